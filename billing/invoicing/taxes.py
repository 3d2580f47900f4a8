"""Which tax a document bears: by the places of seller and buyer and by what the buyer is."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from billing.enums import TaxCategory, TaxStatus
from billing.invoicing.values import Tax
from core.money import settle

UNION = frozenset(
    "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE".split()  # noqa: SIM905
)
"""Where reverse charge between businesses and the buyer's rate for consumers hold (Directive 2006/112/EC)."""


def tax_for(
    *, seller_country: str, buyer_country: str, status: str, buyer_tax_id: str, rates: Mapping[str, Decimal]
) -> Tax | None:
    """The tax of services rendered electronically. `rates`: the standard rate in force by country; None: it lacks.

    Same country: its rate. Both in the Union: a business with a tax number owes it itself, others pay their own
    country's rate. Otherwise the place of supply is elsewhere and no tax is charged.
    """
    if status == TaxStatus.EXEMPT:
        return Tax(TaxCategory.EXEMPT, Decimal(0), "exempt")
    if seller_country == buyer_country:
        return _standard(rates.get(seller_country))
    if seller_country in UNION and buyer_country in UNION:
        if status == TaxStatus.BUSINESS and buyer_tax_id:
            return Tax(TaxCategory.REVERSE_CHARGE, Decimal(0), "reverse_charge")
        return _standard(rates.get(buyer_country))
    return Tax(TaxCategory.OUTSIDE, Decimal(0), "outside")


def tax_on(net: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Settled once, on the whole."""
    return settle(Fraction(net) * Fraction(rate), currency).amount


def _standard(rate: Decimal | None) -> Tax | None:
    return None if rate is None else Tax(TaxCategory.STANDARD, rate)
