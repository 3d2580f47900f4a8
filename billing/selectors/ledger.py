"""The ledger as its owner reads it."""

from __future__ import annotations

from django.db.models import QuerySet

from billing.models import BillingProfile, CreditGrant, LedgerAccount, LedgerEntry
from billing.permissions import authorize_invoices
from billing.selectors.credits import credit_grants
from core.types import Actor
from tenants.selectors import organization_of


def ledger_accounts(actor: Actor) -> QuerySet[LedgerAccount]:
    """Raises Forbidden, as all here."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    return LedgerAccount.objects.filter(organization_id=organization.pk).order_by("-id")


def ledger_entries(actor: Actor) -> QuerySet[LedgerEntry]:
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    rows = LedgerEntry.objects.filter(organization_id=organization.pk)
    return rows.select_related("transaction", "account").order_by("-id")


def grants_of(actor: Actor) -> QuerySet[CreditGrant]:
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    return credit_grants(organization.pk)


def billing_profiles(actor: Actor) -> QuerySet[BillingProfile]:
    """Its versions, newest first."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    return BillingProfile.objects.filter(organization_id=organization.pk).order_by("-valid_from")
