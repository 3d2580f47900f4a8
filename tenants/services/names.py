"""Names that stand outside the database: reserved ones, and those that once meant another tenant's things."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from core.errors import FieldError, Invalid
from tenants.models import UsedName
from tenants.models.organizations import SLUG

RESERVED: Final = frozenset(
    {"about", "accounts", "admin", "api", "app", "apps", "assets", "audit", "auth", "billing", "blog", "cdn", "console"}
    | {"dashboard", "default", "docs", "download", "ftp", "gateway", "git", "health", "help", "imap", "internal"}
    | {
        "invoice",
        "join",
        "kube-system",
        "login",
        "logout",
        "mail",
        "media",
        "metrics",
        "none",
        "null",
        "oidc",
        "platform",
    }
    | {"portal", "proxy", "public", "register", "root", "saml", "security", "signup", "smtp", "sso", "static", "status"}
    | {"steelyard", "support", "system", "test", "undefined", "user", "users", "web", "webhooks", "workspaces", "www"}
)
"""What addresses, hosts and people take for the platform itself."""


def check_slug(slug: str) -> None:
    """Raises Invalid for a slug that is malformed or reserved."""
    try:
        SLUG(slug)
    except ValidationError as error:
        raise Invalid([FieldError("slug", "malformed", str(error.message))]) from None
    if slug in RESERVED or slug.startswith(("kube-", "steelyard-")):
        raise Invalid([FieldError("slug", "reserved", f"{slug} is reserved for the platform. Choose another.")])


def namespace_of(organization_slug: str, project_slug: str) -> str:
    """The name of a project's things outside: in clusters, registries and buckets."""
    return f"{organization_slug}-{project_slug}"


def claim(*, organization_id: UUID, name: str, now: datetime) -> None:
    """Make a name the organisation's for ever. Raises Invalid where it was once another one's.

    Row-level security shows only one's own names; the constraint sees all of them.
    """
    if UsedName.objects.filter(name=name).exists():
        return
    try:
        with transaction.atomic():
            UsedName.objects.create(organization_id=organization_id, name=name, used_from=now)
    except IntegrityError:
        message = f"The name {name} has been used by another organisation, and stays its own. Choose another slug."
        raise Invalid([FieldError("slug", "used_elsewhere", message)]) from None
