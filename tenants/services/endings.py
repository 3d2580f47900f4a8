"""What ends at once when somebody loses what they had: tokens and sessions. Ways in rest on these, and end with them.

A workspace's cookie, an open socket and a one-time link each name the session or token that asked for them, and the
proxy asks again every few seconds whether it lives.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session

from tenants.models import AccessToken


def end_tokens(user_ids: Collection[UUID], now: datetime) -> int:
    """Revoke every living token of these principals in the scope's organisation, for an act that records itself."""
    return AccessToken.objects.filter(user_id__in=[*user_ids], revoked_at=None).update(revoked_at=now)


def end_sessions(user_ids: Collection[UUID], now: datetime, *, keep: str = "") -> int:
    """Sign these people out everywhere, except in the session `keep`. A session does not say where it is used."""
    people = {str(user_id) for user_id in user_ids}
    theirs = [
        session.session_key
        for session in Session.objects.filter(expire_date__gt=now).exclude(session_key=keep).iterator(chunk_size=500)
        if session.get_decoded().get("_auth_user_id") in people
    ]
    UserSession.objects.filter(session_key__in=theirs).delete()
    Session.objects.filter(session_key__in=theirs).delete()
    return len(theirs)
