"""What is sold. Runs in the platform's scope."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from billing.enums import SkuKind, Unit
from billing.models import Sku
from billing.permissions import authorize_catalogue
from core import audit
from core.errors import Conflict, FieldError, Invalid
from core.types import Actor, ObjectRef


@transaction.atomic
def define_sku(*, actor: Actor, code: str, kind: str, unit: str, label: str, now: datetime) -> Sku:
    """A new thing to sell. It can be held once it has a price."""
    authorize_catalogue(actor, ObjectRef("sku", code, code))
    _refuse_nonsense(code, kind, unit)
    sku = Sku.objects.create(code=code, kind=kind, unit=unit, label=label)
    audit.record(actor, "sku.defined", sku.ref, now=now, after={"code": code, "kind": kind, "unit": unit})
    return sku


def _refuse_nonsense(code: str, kind: str, unit: str) -> None:
    errors = []
    if kind not in SkuKind.values:
        errors.append(FieldError("kind", "unknown", f"A SKU's kind is one of {', '.join(SkuKind.values)}."))
    if unit not in Unit.values:
        errors.append(FieldError("unit", "unknown", f"A SKU's unit is one of {', '.join(Unit.values)}."))
    if errors:
        raise Invalid(errors)
    if Sku.objects.filter(code=code).exists():
        raise Conflict(f"There is a SKU {code} already.", code="sku_exists")
