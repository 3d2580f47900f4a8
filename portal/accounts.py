"""Accounts are made by invitation, never by a visitor; sessions can be ended from another one."""

from __future__ import annotations

from collections.abc import Sequence

from allauth.account.adapter import DefaultAccountAdapter
from allauth.usersessions.adapter import DefaultUserSessionsAdapter
from allauth.usersessions.models import UserSession
from django.http import HttpRequest

from portal import signing


class InvitedOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class AuditedSessionsAdapter(DefaultUserSessionsAdapter):  # type: ignore[misc]
    def end_sessions(self, sessions: Sequence[UserSession]) -> None:
        ended = list(sessions)
        super().end_sessions(ended)
        if ended:
            signing.record(ended[0].user, "person.sessions_ended")
