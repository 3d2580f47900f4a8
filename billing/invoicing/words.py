"""The words of documents in the languages that they are written in, and how these write numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

ENGLISH: Mapping[str, str] = {
    "invoice": "Invoice",
    "credit_note": "Credit note",
    "number": "Number",
    "issued_on": "Date",
    "due_on": "Payable by",
    "period": "Service period",
    "purchase_order": "Your order",
    "replaces": "Replaces invoice",
    "corrects": "Corrects invoice",
    "reason": "Reason",
    "bill_to": "Billed to",
    "tax_id": "VAT number",
    "registration": "Registered",
    "project": "Project",
    "description": "Description",
    "quantity": "Quantity",
    "unit_price": "Unit price",
    "amount": "Amount",
    "late": "from an earlier month, at the price of {date}",
    "price_from": "price since {date}",
    "subtotal": "Subtotal",
    "promotion": "Promotional credit: {label}",
    "net": "Net amount",
    "tax": "VAT {rate} %",
    "total": "Total",
    "prepaid": "Paid from credit: {label}",
    "due": "Amount due",
    "credited": "Amount credited",
    "pay": "Please transfer {amount} to the account below by {date}, with the reference {number}.",
    "paid": "Nothing is left to pay.",
    "account": "Bank account",
    "note_exempt": "Exempt from VAT.",
    "note_reverse_charge": "Reverse charge: the recipient accounts for VAT (Art. 196 Directive 2006/112/EC).",
    "note_outside": "Not subject to VAT: the place of supply is outside the seller's country.",
    "unit_hour": "h",
    "unit_gib_hour": "GiB h",
    "unit_each": "",
    "times_in": "Times in {zone}",
    "page": "Page {page} of {pages}",
}
GERMAN: Mapping[str, str] = {
    "invoice": "Rechnung",
    "credit_note": "Gutschrift",
    "number": "Nummer",
    "issued_on": "Datum",
    "due_on": "Zahlbar bis",
    "period": "Leistungszeitraum",
    "purchase_order": "Ihre Bestellung",
    "replaces": "Ersetzt Rechnung",
    "corrects": "Berichtigt Rechnung",
    "reason": "Grund",
    "bill_to": "Rechnungsempfänger",
    "tax_id": "USt-IdNr.",
    "registration": "Register",
    "project": "Projekt",
    "description": "Leistung",
    "quantity": "Menge",
    "unit_price": "Einzelpreis",
    "amount": "Betrag",
    "late": "aus einem früheren Monat, zum Preis vom {date}",
    "price_from": "Preis seit {date}",
    "subtotal": "Zwischensumme",
    "promotion": "Aktionsguthaben: {label}",
    "net": "Nettobetrag",
    "tax": "USt {rate} %",
    "total": "Gesamtbetrag",
    "prepaid": "Aus Guthaben bezahlt: {label}",
    "due": "Zu zahlen",
    "credited": "Gutgeschriebener Betrag",
    "pay": "Bitte überweisen Sie {amount} bis zum {date} auf das unten genannte Konto, Verwendungszweck {number}.",
    "paid": "Es ist nichts mehr zu zahlen.",
    "account": "Bankverbindung",
    "note_exempt": "Steuerfrei.",
    "note_reverse_charge": "Steuerschuldnerschaft des Leistungsempfängers (Art. 196 MwStSystRL).",
    "note_outside": "Nicht steuerbar: Der Leistungsort liegt nicht im Land des Leistenden.",
    "unit_hour": "h",
    "unit_gib_hour": "GiB h",
    "unit_each": "",
    "times_in": "Zeiten in {zone}",
    "page": "Seite {page} von {pages}",
}
WORDS: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "de": GERMAN}
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def day(at: date, language: str) -> str:
    """5 December 2026; 05.12.2026."""
    if language == "de":
        return f"{at.day:02d}.{at.month:02d}.{at.year}"
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def number(value: Decimal, language: str) -> str:
    """1,234.5; 1.234,5. As many digits as it has."""
    written = f"{value:,f}"
    return written.translate(str.maketrans(",.", ".,")) if language == "de" else written


def amount(value: Decimal, currency: str, language: str) -> str:
    return f"{number(value, language)} {currency}"
