"""A document for machines: UBL 2.1 with the elements of EN 16931 (the profile of Peppol BIS Billing 3).

Unit prices have more digits than most readers keep, and amounts are settled by largest remainder: a line therefore
bills its quantity at its net amount (price = amount, base quantity = quantity), so that every sum of the standard
holds. The exact rating stays in the document itself.
"""

from __future__ import annotations

from decimal import Decimal
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

from billing.enums import DocumentKind, TaxCategory
from billing.invoicing.document import lines_of, part
from core.types import Json

_CAC = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
_CBC = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
_ROOT = "urn:oasis:names:specification:ubl:schema:xsd:{name}-2"
_PROFILE = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
_UNITS = {"hour": "HUR", "gib_hour": "HUR", "each": "C62"}
_REASONS = {"reverse_charge": "VATEX-EU-AE", "outside": "VATEX-EU-O", "exempt": ""}
_WORDS = {
    "reverse_charge": "Reverse charge",
    "outside": "Outside the scope of VAT",
    "exempt": "Exempt from VAT",
}
register_namespace("cac", _CAC)
register_namespace("cbc", _CBC)


def ubl(document: dict[str, Json]) -> bytes:
    """An Invoice or a CreditNote, UTF-8."""
    note = document["kind"] == DocumentKind.CREDIT_NOTE
    name = "CreditNote" if note else "Invoice"
    root = Element(f"{{{_ROOT.format(name=name)}}}{name}")
    _head(root, document, note=note)
    _party(root, "AccountingSupplierParty", part(document, "seller"), document)
    _party(root, "AccountingCustomerParty", part(document, "buyer"), document)
    _means(root, document)
    _tax(root, document)
    _totals(root, document)
    for line in lines_of(document):
        _line(root, document, line, note=note)
    indent(root)
    made: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return made


def _head(root: Element, document: dict[str, Json], *, note: bool) -> None:
    _text(root, "CustomizationID", _PROFILE)
    _text(root, "ProfileID", _PROCESS)
    _text(root, "ID", str(document["number"]))
    _text(root, "IssueDate", str(document["issued_on"]))
    if not note and document["due_on"]:
        _text(root, "DueDate", str(document["due_on"]))
    _text(root, "CreditNoteTypeCode" if note else "InvoiceTypeCode", "381" if note else "380")
    if document.get("reason"):
        _text(root, "Note", str(document["reason"]))
    _text(root, "DocumentCurrencyCode", str(document["currency"]))
    order = str(part(document, "buyer")["purchase_order"])
    _text(root, "BuyerReference", order or str(part(document, "buyer")["legal_name"]))
    if order:
        _text(_part(root, "OrderReference"), "ID", order)
    earlier = str(document.get("corrects") or document.get("replaces") or "")
    if earlier:
        _text(_part(_part(root, "BillingReference"), "InvoiceDocumentReference"), "ID", earlier)


def _party(root: Element, role: str, party: dict[str, Json], document: dict[str, Json]) -> None:
    where = part(party, "address")
    found = _part(_part(root, role), "Party")
    if party["email"]:
        _text(found, "EndpointID", str(party["email"]), schemeID="EM")
    address = _part(found, "PostalAddress")
    _text(address, "StreetName", str(where["street"]))
    _text(address, "CityName", str(where["city"]))
    _text(address, "PostalZone", str(where["postcode"]))
    _text(_part(address, "Country"), "IdentificationCode", str(where["country"]))
    if party["tax_id"] and part(document, "tax")["category"] != TaxCategory.OUTSIDE:
        scheme = _part(found, "PartyTaxScheme")
        _text(scheme, "CompanyID", str(party["tax_id"]))
        _text(_part(scheme, "TaxScheme"), "ID", "VAT")
    legal = _part(found, "PartyLegalEntity")
    _text(legal, "RegistrationName", str(party["legal_name"]))
    if party["registration"]:
        _text(legal, "CompanyID", str(party["registration"]))


def _means(root: Element, document: dict[str, Json]) -> None:
    seller = part(document, "seller")
    if not seller["iban"]:
        return
    means = _part(root, "PaymentMeans")
    _text(means, "PaymentMeansCode", "30")
    _text(means, "PaymentID", str(document["number"]))
    account = _part(means, "PayeeFinancialAccount")
    _text(account, "ID", str(seller["iban"]))
    if seller["bic"]:
        _text(_part(account, "FinancialInstitutionBranch"), "ID", str(seller["bic"]))


def _tax(root: Element, document: dict[str, Json]) -> None:
    tax = part(document, "tax")
    total = _part(root, "TaxTotal")
    _money(total, "TaxAmount", tax["amount"], document)
    one = _part(total, "TaxSubtotal")
    _money(one, "TaxableAmount", document["net"], document)
    _money(one, "TaxAmount", tax["amount"], document)
    category = _category(one, "TaxCategory", tax, scheme=False)
    note = str(tax["note"])
    if note:
        if _REASONS[note]:
            _text(category, "TaxExemptionReasonCode", _REASONS[note])
        _text(category, "TaxExemptionReason", _WORDS[note])
    _text(_part(category, "TaxScheme"), "ID", "VAT")


def _totals(root: Element, document: dict[str, Json]) -> None:
    """Lines are net of promotions already, so no allowance stands on the document."""
    total = Decimal(str(document["total"]))
    due = Decimal(str(document.get("due", document["total"])))
    sums = _part(root, "LegalMonetaryTotal")
    _money(sums, "LineExtensionAmount", document["net"], document)
    _money(sums, "TaxExclusiveAmount", document["net"], document)
    _money(sums, "TaxInclusiveAmount", document["total"], document)
    if total != due:
        _money(sums, "PrepaidAmount", str(total - due), document)
    _money(sums, "PayableAmount", str(due), document)


def _line(root: Element, document: dict[str, Json], line: dict[str, Json], *, note: bool) -> None:
    found = _part(root, "CreditNoteLine" if note else "InvoiceLine")
    unit, quantity = _UNITS.get(str(line["unit"]), "C62"), str(line["quantity"])
    _text(found, "ID", str(line["position"]))
    _text(found, "CreditedQuantity" if note else "InvoicedQuantity", quantity, unitCode=unit)
    _money(found, "LineExtensionAmount", line["net"], document)
    item = _part(found, "Item")
    _text(item, "Description", f"{line['project']}: {line['description']}")
    _text(item, "Name", str(line["description"]))
    _text(_part(item, "SellersItemIdentification"), "ID", str(line["sku"]))
    _category(item, "ClassifiedTaxCategory", part(document, "tax"), scheme=True)
    price = _part(found, "Price")
    whole = Decimal(quantity) > 0
    _money(price, "PriceAmount", line["net"], document)
    _text(price, "BaseQuantity", quantity if whole else "1", unitCode=unit)


def _category(parent: Element, name: str, tax: dict[str, Json], *, scheme: bool) -> Element:
    category = _part(parent, name)
    _text(category, "ID", str(tax["category"]))
    if tax["category"] != TaxCategory.OUTSIDE:
        _text(category, "Percent", format((Decimal(str(tax["rate"])) * 100).normalize(), "f"))
    if scheme:
        _text(_part(category, "TaxScheme"), "ID", "VAT")
    return category


def _part(parent: Element, name: str) -> Element:
    return SubElement(parent, f"{{{_CAC}}}{name}")


def _text(parent: Element, name: str, words: str, **attributes: str) -> None:
    SubElement(parent, f"{{{_CBC}}}{name}", attributes).text = words


def _money(parent: Element, name: str, amount: Json, document: dict[str, Json]) -> None:
    _text(parent, name, str(amount), currencyID=str(document["currency"]))
