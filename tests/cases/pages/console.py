"""The platform's own pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from core import scope
from core.types import Json
from portal.identity import SESSION_IMPERSONATION
from provisioning.enums import LeakKind
from provisioning.models import Leak, Region
from provisioning.services import leaks
from tenants.enums import PlatformRole
from tenants.models import Membership
from tenants.services import impersonations, memberships, quotas, standing
from tests import governed, house
from tests.cases.pages.acts import Act, Stage, rule_form
from tests.fleet import registered


def _act_for(found: Stage) -> Act:
    house.platform_person(found.tenant, "paula", PlatformRole.OPERATOR)
    ids = {"slug": "aurora", "person_id": found.tenant.people["alice"].pk}
    return Act("paula", ids, {"reason": "She asked us to look at her form.", "minutes": "5"})


def _governor(found: Stage) -> str:
    house.platform_person(found.tenant, "pilar", PlatformRole.ADMIN)
    return "pilar"


_CYGNUS: dict[str, object] = {"name": "Cygnus", "slug": "cygnus", "currency": "EUR", "time_zone": "Europe/Oslo"}


def _invite_owner(found: Stage) -> Act:
    """While the organisation has none."""
    with found.tenant.scope():
        owner = Membership.objects.get(role="owner")
        with house.an_act():
            memberships.revoke(actor=house.SYSTEM, membership=owner, now=timezone.now())
    return Act(_governor(found), {"slug": "aurora"}, {"email": "olga@aurora.example"}, changes=True)


def _suspend(found: Stage) -> Act:
    return Act(_governor(found), {"slug": "aurora"}, {"reason": "Unpaid since May."}, changes=True)


def _restore(found: Stage) -> Act:
    with house.an_act(), found.tenant.scope():
        standing.suspend(
            actor=house.SYSTEM, organization=found.tenant.organization, reason="Unpaid.", now=timezone.now()
        )
    return Act(_governor(found), {"slug": "aurora"}, changes=True)


def _set_quota(found: Stage) -> Act:
    with house.an_act(), found.tenant.scope():
        place = found.tenant.organization
        quotas.define_one(actor=house.SYSTEM, place=place, resource="vcpus", terms=quotas.Terms(64), now=timezone.now())
    return Act(_governor(found), {"slug": "aurora"}, {"resource": "vcpus", "limit": "32"}, changes=True)


def _decide_for_the_platform(found: Stage) -> Act:
    approval = governed.asked(found.tenant, decider="platform")
    return Act(_governor(found), {"slug": "aurora", "approval_id": approval.pk}, changes=True)


def _platform_rule(found: Stage, **form: object) -> Act:
    with house.an_act(), scope.of_platform():
        policy = governed.platform_rule()
    return Act(_governor(found), {"policy_id": policy.pk}, form, changes=True, founds=True)


def _end_acting(found: Stage) -> Act:
    house.platform_person(found.tenant, "paula", PlatformRole.OPERATOR)
    alice = found.tenant.people["alice"]
    with house.an_act(), found.tenant.scope():
        begun = impersonations.begin(
            actor=found.tenant.actor("paula"),
            person_id=alice.pk,
            reason="She asked us to look at her form.",
            lasts=timedelta(minutes=5),
            now=timezone.now(),
        )
    session: dict[str, object] = {SESSION_IMPERSONATION: [str(begun.pk), str(found.tenant.organization.pk)]}
    return Act("paula", session=session, behalf=alice.pk)


def _erase(found: Stage) -> Act:
    form: dict[str, object] = {"reason": "Asked for in ticket 4711.", "confirmed": "alice@aurora.example"}
    return Act(_governor(found), {"person_id": found.tenant.people["alice"].pk}, form, changes=True)


def _on_cluster(**form: object) -> Callable[[Stage], Act]:
    def act(found: Stage) -> Act:
        registered()
        return Act(_governor(found), {"slug": "lab"}, form, founds=True)

    return act


def _new_cluster(found: Stage) -> Act:
    form = {"slug": "frankfurt-1", "label": "Frankfurt 1", "region": "here", "server": "https://1.1.1.1", "token": "t"}
    Region.objects.get_or_create(slug="here", defaults={"label": "Here"})
    return Act(_governor(found), {}, dict(form), founds=True)


def _remove_leak(found: Stage) -> Act:
    cluster = registered()
    told = leaks.Told(LeakKind.DISK, "PersistentVolumeClaim/ns/vol", "unknown", more=_DISK)
    leaks.note(cluster.pk, told, since=None, now=timezone.now())
    with scope.of_platform():
        leak = Leak.objects.get()
    return Act(_governor(found), {"leak_id": leak.pk}, founds=True)


_DISK: dict[str, Json] = {"uid": "u", "finalizers": [], "size_gib": 1, "volume_id": None}
_CLUSTER = "/console/clusters/<slug:slug>"
SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    "/console/leaks/<uuid:leak_id>/remove": _remove_leak,
    "/console/clusters/new": _new_cluster,
    "/console/clusters/new/try": _new_cluster,
    f"{_CLUSTER}/check": _on_cluster(),
    f"{_CLUSTER}/change": _on_cluster(label="Hall 2", storage_class="fast"),
    f"{_CLUSTER}/cordon": _on_cluster(),
    f"{_CLUSTER}/uncordon": _on_cluster(),
    f"{_CLUSTER}/drain": _on_cluster(),
    f"{_CLUSTER}/remove": _on_cluster(),
    f"{_CLUSTER}/credentials": _on_cluster(token="new"),
    "/console/tenants/<slug:slug>/act-for/<uuid:person_id>": _act_for,
    "/acting/end": _end_acting,
    "/console/found": lambda found: Act(_governor(found), form=_CYGNUS, founds=True),
    "/console/people/<uuid:person_id>/erase": _erase,
    "/console/tenants/<slug:slug>/owner": _invite_owner,
    "/console/tenants/<slug:slug>/suspend": _suspend,
    "/console/tenants/<slug:slug>/restore": _restore,
    "/console/tenants/<slug:slug>/quota": _set_quota,
    "/console/policies/new": lambda found: Act(
        _governor(found), form=rule_form(slug="no-gpus", mode="observe"), changes=True, founds=True
    ),
    "/console/policies/preview": lambda found: Act(_governor(found), form=rule_form(), founds=True),
    "/console/policies/<uuid:policy_id>": lambda found: _platform_rule(
        found, title="Here", confidential="here", mode="off"
    ),
    "/console/policies/<uuid:policy_id>/retire": _platform_rule,
    "/console/approvals/<slug:slug>/<uuid:approval_id>/approve": _decide_for_the_platform,
    "/console/approvals/<slug:slug>/<uuid:approval_id>/refuse": _decide_for_the_platform,
}
