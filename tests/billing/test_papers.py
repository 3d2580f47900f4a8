"""Files of documents: the same bytes whatever the machine's zone, locale and hour; what they say; stored once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings

from billing.drivers import typesetting
from billing.enums import MediaType
from billing.invoicing.presented import presented
from billing.invoicing.ubl import ubl
from billing.models import InvoiceFile
from billing.services import papers
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

LATER = datetime(2026, 12, 5, tzinfo=UTC)
CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
CAC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"
ELSEWHERE = """
import json, sys, hashlib
from datetime import datetime, UTC
from billing.drivers import typesetting
from billing.invoicing.presented import presented
from billing.invoicing.ubl import ubl
says = json.load(sys.stdin)
made = typesetting.pdf(presented(says), at=datetime(2026, 12, 5, tzinfo=UTC), attached=ubl(says))
print(hashlib.sha256(made).hexdigest())
"""


@pytest.fixture
def invoice(db):
    tenant = house.found("aurora", projects=("vision",), currency="EUR")
    sell(H100, ("1234.5", LONG_AGO), currency="EUR")
    hold(tenant, project="vision", since=at(3), until=at(3, 1))
    books.open_books(tenant, rate="0.19")
    books.describe(tenant, now=at(1), language="de")
    return tenant, books.issue(tenant, "2026-11", LATER)


def said_of(document, **changes) -> Any:
    """What its readers see, untyped."""
    return presented({**json.loads(document.body), **changes})


def texts(said):
    return {row["word"]: row["amount"] for row in said["sums"]}


class TestWords:
    def test_german_is_german(self, invoice):
        said = said_of(invoice[1])

        assert said["title"] == "Rechnung AURORA-000001"
        assert texts(said) == {
            "Nettobetrag": "1.234,50 EUR",
            "USt 19 %": "234,56 EUR",
            "Zu zahlen": "1.469,06 EUR",
        }
        assert {"word": "Leistungszeitraum", "value": "01.11.2026 – 30.11.2026"} in said["facts"]
        assert said["notes"] == [
            "Bitte überweisen Sie 1.469,06 EUR bis zum 19.12.2026 auf das unten genannte Konto,"
            " Verwendungszweck AURORA-000001."
        ]

    def test_english_is_english(self, invoice):
        said = said_of(invoice[1], language="en")

        assert texts(said)["Amount due"] == "1,469.06 EUR"
        assert {"word": "Payable by", "value": "19 December 2026"} in said["facts"]


class TestPdf:
    def test_is_archivable_carries_the_xml_and_is_stored_once(self, invoice):
        tenant, document = invoice
        with tenant.scope():
            first, again = (papers.file_of(document, MediaType.PDF) for _ in range(2))
            stored = InvoiceFile.objects.get()

        assert first == again == bytes(stored.content)
        assert stored.sha256 == hashlib.sha256(first).hexdigest()
        assert first.startswith(b"%PDF-1.7")
        assert b"<pdfaid:part>3</pdfaid:part>" in first
        assert b"invoice.xml" in first

    def test_is_the_same_in_another_zone_locale_and_process(self, invoice):
        says = json.loads(invoice[1].body)
        here = typesetting.pdf(presented(says), at=LATER, attached=ubl(says))

        elsewhere = subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            input=json.dumps(says),
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            cwd=settings.BASE_DIR,
            env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "DJANGO_SETTINGS_MODULE": "portal.settings"},
        ).stdout

        assert elsewhere.split()[-1] == hashlib.sha256(here).hexdigest()

    def test_letters_that_its_fonts_lack_do_not_stop_it(self, invoice):
        says = json.loads(invoice[1].body)
        says["buyer"]["legal_name"] = "株式会社"

        assert typesetting.pdf(presented(says), at=LATER, attached=ubl(says)).startswith(b"%PDF")


class TestXml:
    def test_says_what_the_invoice_says_and_its_sums_hold(self, invoice):
        root = ElementTree.fromstring(ubl(json.loads(invoice[1].body)))

        def amount(path):
            return Decimal(root.findtext(path, ""))

        sums = f"{CAC}LegalMonetaryTotal/{CBC}"
        lines = [Decimal(line.findtext(f"{CBC}LineExtensionAmount", "")) for line in root.findall(f"{CAC}InvoiceLine")]
        assert root.findtext(f"{CBC}ID") == "AURORA-000001"
        assert root.findtext(f"{CBC}InvoiceTypeCode") == "380"
        assert sum(lines) == amount(f"{sums}LineExtensionAmount") == Decimal("1234.50")
        assert amount(f"{sums}TaxInclusiveAmount") == Decimal("1469.06")
        assert amount(f"{sums}PayableAmount") == Decimal("1469.06")
        assert amount(f"{CAC}TaxTotal/{CBC}TaxAmount") == Decimal("234.56")
        assert root.findtext(f"{CAC}TaxTotal/{CAC}TaxSubtotal/{CAC}TaxCategory/{CBC}Percent") == "19"
