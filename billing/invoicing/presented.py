"""A frozen document as its readers see it: every date, number and word written out. PDF and HTML show the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from billing.enums import DocumentKind
from billing.invoicing import words
from billing.invoicing.document import lines_of, part
from core.types import Json


def presented(document: dict[str, Json]) -> dict[str, Json]:
    """Depends on the document alone: not on the clock, the locale or the zone of the machine."""
    speech = _Speech(document)
    seller, buyer = part(document, "seller"), part(document, "buyer")
    number = str(document["number"])
    return {
        "language": speech.language,
        "title": f"{speech.word(str(document['kind']))} {number}",
        "word": dict(speech.words),
        "issued_on": str(document["issued_on"]),
        "seller": _party(seller),
        "buyer": _party(buyer),
        "facts": _facts(document, speech),
        "lines": [
            _line(line, speech, credits=document["kind"] == DocumentKind.CREDIT_NOTE) for line in lines_of(document)
        ],
        "sums": _sums(document, speech),
        "notes": _notes(document, speech),
        "account": _account(seller),
        "foot": _foot(seller, speech),
    }


class _Speech:
    """How a document speaks."""

    def __init__(self, document: dict[str, Json]) -> None:
        self.language = str(document["language"])
        self.currency = str(document["currency"])
        self.zone = str(document["time_zone"])
        self.words: Mapping[str, str] = words.WORDS[self.language]

    def word(self, key: str, **values: str) -> str:
        return self.words[key].format(**values)

    def day(self, at: str) -> str:
        return words.day(date.fromisoformat(at), self.language)

    def local(self, instant: str, *, back: timedelta = timedelta()) -> str:
        """The local day of an instant, or of just before it."""
        return words.day((datetime.fromisoformat(instant) - back).astimezone(ZoneInfo(self.zone)).date(), self.language)

    def money(self, value: Json) -> str:
        return words.amount(Decimal(str(value)), self.currency, self.language)

    def less(self, value: Json) -> str:
        return f"−{self.money(value)}"

    def number(self, value: Json | Decimal) -> str:
        return words.number(Decimal(str(value)), self.language)


def _party(party: dict[str, Json]) -> dict[str, Json]:
    address = part(party, "address")
    city = " ".join(str(address[name]) for name in ("postcode", "city"))
    return {
        "name": party["legal_name"],
        "lines": [address["street"], city, address["country"]],
        "tax_id": party["tax_id"],
    }


def _facts(document: dict[str, Json], speech: _Speech) -> list[Json]:
    """Pairs of word and value, those that are empty left out."""
    period, moment = part(document, "period"), timedelta(microseconds=1)
    span = f"{speech.local(str(period['start']))} – {speech.local(str(period['end']), back=moment)}"
    pairs = [
        ("number", str(document["number"])),
        ("issued_on", speech.day(str(document["issued_on"]))),
        ("period", span),
        ("due_on", speech.day(str(document["due_on"])) if document["due_on"] else ""),
        ("purchase_order", str(part(document, "buyer")["purchase_order"])),
        ("replaces", str(document.get("replaces", ""))),
        ("corrects", str(document.get("corrects", ""))),
        ("reason", str(document.get("reason", ""))),
    ]
    return [{"word": speech.word(key), "value": value} for key, value in pairs if value]


def _line(line: dict[str, Json], speech: _Speech, *, credits: bool) -> dict[str, Json]:
    unit = speech.words.get(f"unit_{line['unit']}", str(line["unit"]))
    note = "late" if line["late"] else "price_from"
    return {
        "project": line["project"],
        "description": line["description"],
        "note": speech.word(note, date=speech.local(str(line["price_from"]))),
        "quantity": f"{speech.number(line['quantity'])} {unit}".strip(),
        "unit_price": speech.number(line["unit_price"]),
        "shown": speech.number(line["net"] if credits else line["amount"]),
    }


def _sums(document: dict[str, Json], speech: _Speech) -> list[Json]:
    """Rows of word and amount, from the subtotal to what is due; `strong` ones are what a reader looks for."""
    tax = part(document, "tax")
    percent = speech.number((Decimal(str(tax["rate"])) * 100).normalize())
    middle = [
        _sum(speech.word("net"), speech.money(document["net"])),
        _sum(speech.word("tax", rate=percent), speech.money(tax["amount"])),
    ]
    if document["kind"] == DocumentKind.CREDIT_NOTE:
        return [*middle, _sum(speech.word("credited"), speech.money(document["total"]), strong=True)]
    used = _uses(document, "promotions", "promotion", speech)
    prepaid = _uses(document, "prepaid", "prepaid", speech)
    return [
        *([_sum(speech.word("subtotal"), speech.money(document["subtotal"])), *used] if used else []),
        *middle,
        *([_sum(speech.word("total"), speech.money(document["total"])), *prepaid] if prepaid else []),
        _sum(speech.word("due"), speech.money(document["due"]), strong=True),
    ]


def _sum(word: str, amount: str, *, strong: bool = False) -> Json:
    return {"word": word, "amount": amount, "strong": strong}


def _uses(document: dict[str, Json], name: str, word: str, speech: _Speech) -> list[Json]:
    uses = document[name]
    assert isinstance(uses, list)
    return [
        _sum(speech.word(word, label=str(use["label"])), speech.less(use["amount"]))
        for use in uses
        if isinstance(use, dict)
    ]


def _notes(document: dict[str, Json], speech: _Speech) -> list[Json]:
    note = str(part(document, "tax")["note"])
    said: list[Json] = [speech.word(f"note_{note}")] if note else []
    if document["kind"] == DocumentKind.CREDIT_NOTE:
        return said
    if Decimal(str(document["due"])) <= 0:
        return [*said, speech.word("paid")]
    due_on = speech.day(str(document["due_on"]))
    pay = speech.word("pay", amount=speech.money(document["due"]), date=due_on, number=str(document["number"]))
    return [*said, pay]


def _account(seller: dict[str, Json]) -> Json:
    parts = [str(seller["bank_name"]), f"IBAN {seller['iban']}" if seller["iban"] else ""]
    parts.append(f"BIC {seller['bic']}" if seller["bic"] else "")
    return " · ".join(each for each in parts if each)


def _foot(seller: dict[str, Json], speech: _Speech) -> Json:
    parts = [str(seller["legal_name"]), str(seller["registration"]), f"{speech.word('tax_id')} {seller['tax_id']}"]
    parts += [str(seller["email"]), speech.word("times_in", zone=speech.zone)]
    return " · ".join(each for each in parts if each)
