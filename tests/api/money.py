"""Acts on invoices and credit: the platform's finance, and what an organisation says about itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from billing.api.document_inputs import GrantingInput, ProfileInput
from billing.models import InvoiceDocument
from tenants.enums import PlatformRole
from tests import house
from tests.api.acts import Act, Scenario
from tests.billing import books
from tests.billing.shop import LONG_AGO, hold, sell
from tests.house import Tenant

SKU = "gpu-hour/past/on-demand"
SINCE = datetime(2026, 2, 3, tzinfo=UTC)


def petra(tenant: Tenant) -> str:
    if "petra" not in tenant.people:
        house.platform_person(tenant, "petra", PlatformRole.ADMIN)
    return "petra"


def used(tenant: Tenant) -> Tenant:
    """An hour in February, at 100."""
    sell(SKU, ("100", LONG_AGO))
    books.open_books(tenant)
    hold(tenant, project="vision", sku=SKU, since=SINCE, until=SINCE + timedelta(hours=1))
    return tenant


def issued(tenant: Tenant) -> InvoiceDocument:
    made: InvoiceDocument = books.issue(used(tenant), "2026-02", SINCE + timedelta(days=60))
    return made


def _on_invoice(body: object) -> Scenario:
    return lambda tenant: Act(petra(tenant), body, {"invoice_id": issued(tenant).pk})


def _issue(tenant: Tenant) -> Act:
    used(tenant)
    return Act(petra(tenant), {"month": "2026-02"})


def _credit(tenant: Tenant) -> Act:
    lines = [{"position": 1, "amount": "3.10"}]
    return Act(petra(tenant), {"invoice": str(issued(tenant).pk), "lines": lines, "reason": "Broken for an hour."})


def _grant(tenant: Tenant) -> Act:
    books.open_books()
    return Act(petra(tenant), GrantingInput.example)


_INVOICE = "/api/v1/invoices/<uuid:invoice_id>"
_PAID = {"amount": "9.30", "reference": "T-1", "received_on": "2026-03-20"}
SCENARIOS: dict[str, Callable[[Tenant], Act]] = {
    f"POST {_INVOICE}/pay": _on_invoice(_PAID),
    f"POST {_INVOICE}/void": _on_invoice({"reason": "Wrong address.", "replace": True}),
    f"POST {_INVOICE}/write-off": _on_invoice({"reason": "Insolvent."}),
    "POST /api/v1/invoices": _issue,
    "POST /api/v1/credit-notes": _credit,
    "POST /api/v1/credit-grants": _grant,
    "POST /api/v1/billing-profiles": lambda _: Act("olivia", ProfileInput.example),
}
