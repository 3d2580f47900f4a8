"""Examples of the API's description: one invoice of 9.30 and what belongs to it."""

from __future__ import annotations

_INVOICE = "0199aa00-0000-7000-8000-000000000021"
_HASH = "5f2d9a" + "0" * 58
_BEFORE = "0" * 64


def _usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


TAX = {"category": "S", "rate": "0.2", "note": "", "amount": _usd("1.86")}
SUMMARY = {
    "id": _INVOICE,
    "number": "AURORA-000001",
    "state": "issued",
    "period": "2026-11",
    "total": _usd("11.16"),
    "open": _usd("11.16"),
    "issued_at": "2026-12-04T00:00:05Z",
    "due_at": "2026-12-18T23:00:00Z",
}
INVOICE = {
    **SUMMARY,
    "subtotal": _usd("9.30"),
    "promotions": [],
    "net": _usd("9.30"),
    "tax": TAX,
    "prepaid": [],
    "due": _usd("11.16"),
    "replaces": "",
    "notes": [],
    "hash": _HASH,
    "previous_hash": _BEFORE,
}
LINE = {
    "position": 1,
    "project": "vision",
    "project_id": "0199aa00-0000-7000-8000-000000000003",
    "sku": "gpu-hour/h100/on-demand",
    "description": "H100, on demand",
    "unit": "hour",
    "quantity": "3",
    "quantity_exact": "3/1",
    "unit_price": "3.1",
    "price_from": "2026-01-01T00:00:00Z",
    "late": False,
    "exact": "93/10",
    "amount": _usd("9.30"),
    "net": _usd("9.30"),
}
NOTE = {
    "id": "0199aa00-0000-7000-8000-000000000022",
    "number": "AURORA-CN-000001",
    "kind": "credit_note",
    "invoice": "AURORA-000001",
    "reason": "The node was broken for an hour.",
    "net": _usd("3.10"),
    "tax": {**TAX, "amount": _usd("0.62")},
    "total": _usd("3.72"),
    "issued_at": "2026-12-05T09:00:00Z",
    "hash": _HASH,
    "previous_hash": _BEFORE,
}
PAYMENT = {
    "id": "0199aa00-0000-7000-8000-000000000023",
    "invoice": "AURORA-000001",
    "method": "bank_transfer",
    "reference": "SEPA 2026-12-18 4711",
    "amount": _usd("11.16"),
    "received_on": "2026-12-18",
    "recorded_at": "2026-12-18T10:00:00Z",
}
GRANT = {
    "id": "0199aa00-0000-7000-8000-000000000024",
    "kind": "promotional",
    "key": "welcome/2026",
    "label": "Welcome",
    "amount": _usd("50.00"),
    "left": _usd("50.00"),
    "granted_at": "2026-11-01T00:00:00Z",
    "expires_at": None,
}
PROFILE = {
    "id": "0199aa00-0000-7000-8000-000000000025",
    "valid_from": "2026-11-01T00:00:00Z",
    "legal_name": "Aurora Research GmbH",
    "street": "Sternwartstraße 5",
    "postcode": "40223",
    "city": "Düsseldorf",
    "country": "DE",
    "tax_status": "business",
    "tax_id": "DE987654321",
    "terms_days": 14,
    "purchase_order": "PO-2026-77",
    "recipients": [],
    "language": "de",
}
SELLER = {
    "legal_name": "Steelyard Cloud GmbH",
    "street": "Lindenstraße 12",
    "postcode": "10969",
    "city": "Berlin",
    "country": "DE",
    "tax_id": "DE123456789",
    "registration": "HRB 4711 B",
    "email": "",
    "bank_name": "Berliner Bank",
    "iban": "DE89370400440532013000",
    "bic": "COBADEFFXXX",
    "valid_from": "2026-01-01T00:00:00Z",
}
ACCOUNT = {"id": "0199aa00-0000-7000-8000-000000000026", "kind": "receivable", "balance": _usd("11.16")}
ENTRY = {
    "id": "0199aa00-0000-7000-8000-000000000027",
    "transaction": "0199aa00-0000-7000-8000-000000000028",
    "about": "invoice/AURORA-000001",
    "account": "receivable",
    "amount": _usd("11.16"),
    "at": "2026-12-04T00:00:05Z",
}
STATEMENT = {
    "movements": [
        {
            "at": "2026-12-04T00:00:05Z",
            "kind": "invoice",
            "label": "AURORA-000001",
            "amount": _usd("11.16"),
            "balance": _usd("11.16"),
        }
    ],
    "balance": _usd("11.16"),
    "wallet": _usd("0.00"),
    "promotions": _usd("0.00"),
}
