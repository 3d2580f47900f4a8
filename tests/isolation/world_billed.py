"""A past month of an organisation, billed: every table of documents, ledger and credit gets rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from billing.enums import GrantKind, MediaType
from billing.services import grants, notes, papers, parties, payments, runs
from core import scope
from tests import house
from tests.billing import books
from tests.billing.shop import LONG_AGO, hold, sell
from tests.house import Tenant

SKU = "gpu-hour/past/on-demand"
JANUARY, FEBRUARY, MARCH = (datetime(2026, month, 3, tzinfo=UTC) for month in (1, 2, 3))
LATER = datetime(2026, 4, 20, tzinfo=UTC)


def open_books() -> None:
    """Once for all organisations."""
    sell(SKU, ("100", LONG_AGO))
    books.open_books(rate="")
    with house.an_act(), scope.of_platform():
        parties.set_tax_rate(actor=house.SYSTEM, country="DE", rate=Decimal("0.19"), valid_from=FEBRUARY, now=LONG_AGO)


def bill(tenant: Tenant, project: str) -> dict[str, object]:
    """February voided and replaced, March paid in part, written off; January lacks a tax rate, and is held."""
    for since in (JANUARY, FEBRUARY, MARCH):
        hold(tenant, project=project, sku=SKU, since=since, until=since + timedelta(hours=1))
    runs.run(now=JANUARY + timedelta(days=40))
    name = tenant.organization.slug
    books.describe(tenant, now=LONG_AGO, legal_name=f"{name} research", recipients=(f"finance@{name}.example",))
    with house.an_act(), tenant.scope():
        grants.grant(
            actor=tenant.system,
            organization_id=tenant.organization.pk,
            kind=GrantKind.PROMOTIONAL,
            key="welcome",
            label="Welcome",
            amount=Decimal(10),
            expires_at=None,
            now=JANUARY,
        )
    february, march = (books.issue(tenant, month, LATER) for month in ("2026-02", "2026-03"))
    with house.an_act(), tenant.scope():
        done = notes.void(actor=tenant.system, invoice_id=february.pk, reason="Wrong address.", replace=True, now=LATER)
    with house.an_act(), tenant.scope():
        payments.mark_paid(
            actor=tenant.system,
            invoice_id=march.pk,
            amount=Decimal(50),
            reference="T-1",
            received_on=date(2026, 4, 20),
            now=LATER,
        )
    with house.an_act(), tenant.scope():
        payments.write_off(actor=tenant.system, invoice_id=march.pk, reason="Insolvent.", now=LATER)
    with tenant.scope():
        papers.file_of(march, MediaType.XML)
    assert done is not None
    return {"invoice_id": march.pk, "note_id": done[0].pk, "position": 1}
