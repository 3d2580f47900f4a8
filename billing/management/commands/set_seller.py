"""Say who sells: from a JSON file, so that nothing of it stands in a command line's history."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from billing.services import parties
from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import system_actor


class Command(BaseCommand):
    help = 'Set the seller and tax rates. The file: {"seller": {"legal_name": …}, "tax_rates": {"DE": "0.19"}}.'

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: object, file: Path, **options: object) -> None:
        try:
            found = json.loads(file.read_text())
            facts = dict(found.get("seller", {}))
            if "second_person_above" in facts:
                facts["second_person_above"] = Decimal(facts["second_person_above"])
            seller = parties.SellerFacts(**facts) if facts else None
            rates = {str(country): Decimal(rate) for country, rate in found.get("tax_rates", {}).items()}
        except (OSError, ValueError, TypeError, ArithmeticError) as error:
            raise CommandError(f"{file}: {error}") from None
        now, actor = timezone.now(), system_actor("set_seller", None)
        try:
            if seller is not None:
                with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                    parties.set_seller(actor=actor, facts=seller, valid_from=now, now=now)
            for country, rate in rates.items():
                with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                    parties.set_tax_rate(actor=actor, country=country, rate=rate, valid_from=now, now=now)
        except SteelyardError as error:
            raise CommandError(error.message) from None
        self.stdout.write("The next invoices name it.")
