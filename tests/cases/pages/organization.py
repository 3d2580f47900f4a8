"""The organisation: people, teams, projects, handing over, closing."""

from __future__ import annotations

from collections.abc import Callable

from tests import house, places
from tests.cases.pages.acts import Act, Stage


def _facts(name: str = "Seeing", **more: object) -> dict[str, object]:
    return {"name": name, "environment": "prod", "data_class": "restricted", "cost_centre": "CC-2", "team": "", **more}


def _on_bob() -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"member_id": found.tenant.people["bob"].pk})


def _on_vision(form: dict[str, object] | None = None) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"project_id": found.tenant.projects["vision"].pk}, form or {}, changes=True)


def _on_team(form: dict[str, object] | None = None, *, changes: bool = False) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"team_id": places.team(found.tenant).pk}, form or {}, changes=changes)


def _give(found: Stage) -> Act:
    place = f"project:{found.tenant.projects['language'].pk}"
    return Act("olivia", {"member_id": found.tenant.people["bob"].pk}, {"place": place, "role": "viewer"}, changes=True)


def _invite(found: Stage) -> Act:
    place = f"project:{found.tenant.projects['language'].pk}"
    form: dict[str, object] = {"email": "nora@new.example", "place": place, "role": "viewer"}
    return Act("olivia", form=form, changes=True)


def _on_invitation(*, changes: bool) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"invitation_id": places.invited(found.tenant)[0].pk}, changes=changes)


def _join(found: Stage) -> Act:
    aurora = found.tenant
    alice = aurora.people["alice"].email
    _, secret = places.invited(aurora, alice, role="auditor", place=aurora.organization)
    return Act("alice", form={"code": secret}, changes=True)


def _take_back(found: Stage) -> Act:
    return Act("olivia", {"membership_id": places.membership_of(found.tenant, "bob").pk})


def _disable(found: Stage) -> Act:
    return Act("olivia", {"account_id": places.account(found.tenant).pk}, changes=True)


def _transfer(found: Stage) -> Act:
    heir = str(found.tenant.people["alice"].pk)
    form = {"to": heir, "then": "admin", "confirmed": "aurora", "password": house.PASSWORD}
    return Act("olivia", form=dict(form), changes=True)


_SETTINGS: dict[str, object] = {"name": "Aurora Labs", "time_zone": "Europe/Paris"}


_TEAM: dict[str, object] = {"name": "Seeing", "slug": "seeing"}


_CLOSE: dict[str, object] = {"confirmed": "aurora", "password": house.PASSWORD}


SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    "/join": _join,
    "/organization/settings/change": lambda _: Act("olivia", form=_SETTINGS, changes=True),
    "/organization/leave": lambda _: Act("victor"),
    "/organization/transfer": _transfer,
    "/organization/close": lambda _: Act("olivia", form=_CLOSE, changes=True),
    "/organization/members/<uuid:member_id>/give": _give,
    "/organization/members/<uuid:member_id>/remove": _on_bob(),
    "/organization/memberships/<uuid:membership_id>/take-back": _take_back,
    "/organization/invitations": _invite,
    "/organization/invitations/<uuid:invitation_id>/resend": _on_invitation(changes=True),
    "/organization/invitations/<uuid:invitation_id>/revoke": _on_invitation(changes=False),
    "/organization/teams/new": lambda _: Act("olivia", form=_TEAM, changes=True),
    "/organization/teams/<uuid:team_id>/rename": _on_team({"name": "Other"}, changes=True),
    "/organization/teams/<uuid:team_id>/delete": _on_team(),
    "/organization/projects/new": lambda _: Act("olivia", form=_facts(slug="robots"), changes=True),
    "/organization/projects/<uuid:project_id>/change": _on_vision(_facts()),
    "/organization/projects/<uuid:project_id>/close": _on_vision(),
    "/organization/service-accounts/new": lambda _: Act("olivia", form={"name": "nightly"}, changes=True),
    "/organization/service-accounts/<uuid:account_id>/disable": _disable,
    "/organization/service-accounts/<uuid:account_id>/tokens": lambda found: Act(
        "olivia", {"account_id": places.account(found.tenant).pk}, {"name": "nightly", "expires": "30"}, changes=False
    ),
}
