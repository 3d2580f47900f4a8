"""Issued invoices with what followed, made up."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace as Thing

from tests.look.samples import NOW, Context, at, usd

_WORDS = {
    "project": "Project",
    "description": "Description",
    "quantity": "Quantity",
    "unit_price": "Unit price",
    "amount": "Amount",
}


def _row(number: str, state: str, tone: str, total: str, still: str, about: str = "") -> Thing:
    return Thing(
        number=number,
        url="#",
        pdf_url="#",
        month="2026-11",
        state=state,
        tone=tone,
        total=usd(total),
        open=usd(still),
        issued_at=at(days=3),
        due_at=NOW,
        about=about,
    )


def overview() -> Context:
    return {
        "invoices": [
            _row("AURORA-000012", "partially paid", "wait", "33382.21", "23382.21"),
            _row("AURORA-000011", "overdue", "bad", "28052.28", "28052.28", "AURORA-000010"),
            _row("AURORA-000010", "void", "", "28052.28", "0.00"),
            _row("AURORA-000009", "paid", "good", "19004.10", "0.00"),
        ],
        "notes": [_row("AURORA-CN-000001", "", "", "28052.28", "0.00", "AURORA-000010")],
        "held": [Thing(month="2026-08", reasons=["The billing profile lacks its street."])],
        "open": usd("51434.49"),
        "overdue": usd("28052.28"),
        "wallet": usd("1200.00"),
        "promotions": usd("50.00"),
        "profile": Thing(legal_name="Aurora Research GmbH"),
        "draft_url": "#",
        "zone": "Europe/Berlin",
    }


def overview_empty() -> Context:
    nothing = dict.fromkeys(("open", "overdue", "wallet", "promotions"), usd("0.00"))
    return {**overview(), **nothing, "invoices": [], "notes": [], "held": [], "profile": None}


def issued() -> Context:
    def line(project: str, what: str, quantity: str, price: str, amount: str, *, late: bool = False) -> Thing:
        shown = {"price": usd(price), "amount": usd(amount), "exact": f"{amount}21 USD"}
        return Thing(project=project, what=what, late=late, quantity=quantity, url="#", **shown)

    return {
        "invoice": _row("AURORA-000012", "partially paid", "wait", "33382.21", "23382.21"),
        "said": Thing(
            title="Invoice AURORA-000012",
            buyer=Thing(name="Aurora Research GmbH"),
            word=_WORDS,
            facts=[
                Thing(word="Number", value="AURORA-000012"),
                Thing(word="Service period", value="1 November 2026 – 30 November 2026"),
                Thing(word="Payable by", value="19 December 2026"),
            ],
            sums=[
                Thing(word="Net amount", amount="28,052.28 USD", strong=False),
                Thing(word="VAT 19 %", amount="5,329.93 USD", strong=False),
                Thing(word="Amount due", amount="33,382.21 USD", strong=True),
            ],
            notes=["Please transfer 33,382.21 USD to the account below by 19 December 2026."],
            account="Berliner Bank · IBAN DE89370400440532013000",
        ),
        "lines": [
            line("vision", "H100, on demand", "6,814.2213 h", "3.10", "21124.09"),
            line("vision", "Disk", "51,200 GiB h", "0.00008219", "4.21"),
            line("language", "A100, on demand", "5,768 h", "1.20", "6921.60", late=True),
        ],
        "notes": [_row("AURORA-CN-000001", "", "", "100.00", "0.00", "AURORA-000012")],
        "receipts": [Thing(on=date(2026, 12, 9), words="Bank transfer SEPA 4711", amount=usd("10000.00"))],
        "replacement": None,
        "hash": "5f2d9a41c07b" + "0" * 52,
        "files": "#",
        "list_url": "#",
    }


def drilled() -> Context:
    def part(workload: str, user: str, quantity: str, exact: str) -> Thing:
        times = {"start": at(days=4), "end": at(days=3), "quantity": quantity, "exact": exact}
        return Thing(workload=workload, workload_url="#", user=user, audit_url="#", **times)

    return {
        "line": Thing(
            number="AURORA-000012", position=1, project="vision", description="H100, on demand", price_from=at(days=90)
        ),
        "unit": "h",
        "price": usd("3.10"),
        "amount": usd("21124.09"),
        "exact": "21124.08603 USD",
        "parts": [
            part("segmentation-notes", "Alice Moreau", "6,790.2213 h", "21,049.68603 USD"),
            part("sam-finetune-04", "Bob Lindqvist", "24 h", "74.4 USD"),
        ],
        "may_audit": True,
        "invoice_url": "#",
        "list_url": "#",
    }
