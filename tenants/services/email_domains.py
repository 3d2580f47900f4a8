"""Domains that an organisation proves by a DNS record, so that its provider may speak for their addresses."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict, FieldError, Invalid, NotFound, Refused
from core.queue import enqueue_on_commit
from core.types import Actor, Reason, system_actor
from tenants.credentials import new_challenge
from tenants.drivers import dns
from tenants.enums import Permission, TaskName
from tenants.models import EmailDomain, Organization
from tenants.permissions import authorize
from tenants.selectors.sign_in import domain_of, domains_to_check

RECHECK_AFTER = timedelta(days=1)
LAPSES_AFTER = timedelta(days=3)
_PREFIX = "steelyard-domain="
_LABEL = re.compile(r"^(?!-)[a-z0-9-]{1,63}(?<!-)$")


def record_name(domain: str) -> str:
    return f"_steelyard-challenge.{domain}"


def record_value(row: EmailDomain) -> str:
    return f"{_PREFIX}{row.challenge}"


@transaction.atomic
def add(*, actor: Actor, organization: Organization, domain: str, now: datetime) -> EmailDomain:
    """Name a domain; it counts for nothing until `check` has found its record."""
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    name = _normal(domain)
    if EmailDomain.objects.filter(domain=name).exists():
        raise Conflict(f"{name} is on the list already.", code="domain_listed")
    row = EmailDomain.objects.create(organization=organization, domain=name, challenge=new_challenge(), created_at=now)
    audit.record(actor, "email_domain.added", row.ref, now=now, after={"domain": name})
    return row


@transaction.atomic
def remove(*, actor: Actor, domain_id: UUID, now: datetime) -> None:
    """The provider speaks for the domain no longer; who signs in is asked again at the next sign-in."""
    row = domain_of(actor, domain_id)
    ref = row.ref
    row.delete()
    audit.record(actor, "email_domain.removed", ref, now=now, before={"domain": ref.label})


def check(*, actor: Actor, domain_id: UUID, now: datetime) -> EmailDomain:
    """Look for the record and take the proof. Calls the network, so it opens short scopes of its own.

    Raises Refused where the record is not there or another organisation has proven the domain.
    """
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id, user_id=actor.id):
        row = domain_of(actor, domain_id)
    missing = _why_missing(row)
    if missing is not None:
        with scope.of_organization(actor.organization_id):
            EmailDomain.objects.filter(pk=domain_id).update(checked_at=now)
        raise Refused([missing], ref=row.ref)
    try:
        with scope.of_organization(actor.organization_id, user_id=actor.id):
            proven = EmailDomain.objects.select_for_update().get(pk=domain_id)
            before = proven.proven_at
            proven.proven_at, proven.checked_at, proven.failing_since = before or now, now, None
            proven.save(update_fields=["proven_at", "checked_at", "failing_since"])
            audit.record(actor, "email_domain.proven", proven.ref, now=now, after={"domain": proven.domain})
            return proven
    except IntegrityError:
        taken = Reason(
            code="domain_taken",
            message=f"Another organisation has proven {row.domain}.",
            ask="the people who run this platform, if the domain is yours",
        )
        raise Refused([taken], ref=row.ref) from None


@transaction.atomic
def ask_check(*, actor: Actor, domain_id: UUID, now: datetime) -> EmailDomain:
    """Have the record looked for in the background: `proven_at` and `checked_at` tell."""
    row = domain_of(actor, domain_id)
    audit.record(actor, "email_domain.check_asked", row.ref, now=now)
    enqueue_on_commit(TaskName.CHECK_DOMAIN, organization_id=row.organization_id, domain_id=row.pk)
    return row


def check_asked(*, organization_id: UUID, domain_id: UUID, now: datetime) -> bool:
    """What `ask_check` asked for; whether the domain is proven."""
    try:
        with acts.begin(Source(SourceKind.SYSTEM)):
            check(actor=system_actor("domain check", organization_id), domain_id=domain_id, now=now)
    except (Refused, NotFound):
        return False
    return True


def recheck(*, organization_id: UUID, domain_id: UUID, now: datetime) -> bool:
    """Look at a proven domain again; whether it still counts. A record that is gone for days takes the proof along.

    A resolver that does not answer says nothing, so it changes nothing.
    """
    with scope.of_organization(organization_id):
        row = EmailDomain.objects.filter(pk=domain_id, proven_at__isnull=False).first()
    if row is None:
        return False
    try:
        there = record_value(row) in dns.text_records(record_name(row.domain), servers=_servers())
    except dns.Unanswered:
        there = True
        now_failing = row.failing_since
    else:
        now_failing = None if there else row.failing_since or now
    lapsed = now_failing is not None and now - now_failing >= LAPSES_AFTER
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        changes: dict[str, datetime | None] = {"checked_at": now, "failing_since": now_failing}
        if lapsed:
            changes["proven_at"] = None
            actor = system_actor("domain check", organization_id)
            audit.record(actor, "email_domain.lapsed", row.ref, now=now, before={"domain": row.domain})
        EmailDomain.objects.filter(pk=domain_id).update(**changes)
    return not lapsed


def recheck_due(*, now: datetime) -> int:
    """Every proven domain that nobody has looked at for a day; how many."""
    due = domains_to_check(now - RECHECK_AFTER)
    for organization_id, domain_id in due:
        recheck(organization_id=organization_id, domain_id=domain_id, now=now)
    return len(due)


def _why_missing(row: EmailDomain) -> Reason | None:
    name = record_name(row.domain)
    try:
        found = dns.text_records(name, servers=_servers())
    except dns.Unanswered:
        return Reason(code="dns_unanswered", message=f"No name server answered for {name}. Try again in a minute.")
    if record_value(row) in found:
        return None
    seen = " It has other text there." if found else ""
    return Reason(
        code="dns_record_missing",
        message=f"{name} has no TXT record “{record_value(row)}” yet.{seen} A new record may take an hour to be seen.",
    )


def _servers() -> tuple[str, ...]:
    found = settings.STEELYARD["DNS_SERVERS"]
    assert isinstance(found, tuple)
    return found


def _normal(domain: str) -> str:
    word = domain.strip().rstrip(".").lower()
    try:
        name = word.encode("idna").decode()
    except UnicodeError:
        name = ""
    labels = name.split(".")
    has_letter = any(letter.isalpha() for letter in labels[-1])
    if len(labels) < 2 or len(name) > 200 or not has_letter or not all(_LABEL.match(label) for label in labels):
        raise Invalid([FieldError("domain", "malformed", "A domain looks like example.com.")])
    return name
