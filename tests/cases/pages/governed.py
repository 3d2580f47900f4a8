"""Quotas, approvals, policies and the audit log."""

from __future__ import annotations

from collections.abc import Callable

from tenants.models import Quota
from tests import governed
from tests.cases.pages.acts import Act, Stage, rule_form
from tests.proof import ADDRESS, saved_view, stream


def _limit(found: Stage) -> Act:
    with found.tenant.scope():
        return Act("olivia", {"quota_id": Quota.objects.earliest("pk").pk}, {"limit": "11"}, changes=True)


def _ask_for_quota(found: Stage) -> Act:
    with found.tenant.scope():
        quotas_of = Quota.objects.filter(project=found.tenant.projects["vision"])
        ids: dict[str, object] = {"quota_id": quotas_of.earliest("pk").pk}
    return Act("alice", ids, {"limit": "99", "justification": "The benchmark of the new encoder."}, changes=True)


def _define_quota(found: Stage) -> Act:
    place = f"user:{found.tenant.people['alice'].pk}"
    return Act("olivia", form={"place": place, "resource": "vcpus", "limit": "8"}, changes=True)


def _decide(found: Stage) -> Act:
    return Act("olivia", {"approval_id": governed.asked(found.tenant).pk}, {"comment": "Go on."}, changes=True)


def _withdraw(found: Stage) -> Act:
    return Act("alice", {"approval_id": governed.asked(found.tenant).pk}, changes=True)


def _on_stream(form: dict[str, object], *, changes: bool = False) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"stream_id": stream(found.tenant).pk}, form, changes=changes)


def _ruled(**form: object) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"policy_id": governed.ruled(found.tenant).pk}, dict(form), changes=True)


SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    "/policies/new": lambda _: Act("olivia", form=rule_form(slug="no-gpus", mode="observe"), changes=True),
    "/policies/preview": lambda _: Act("olivia", form=rule_form()),
    "/policies/<uuid:policy_id>": _ruled(title="Large", accelerators="2", mode="enforce"),
    "/policies/<uuid:policy_id>/retire": _ruled(),
    "/audit/views": lambda _: Act("olivia", form={"name": "Mine", "query": '{"q": "x"}'}, changes=True),
    "/audit/views/<uuid:view_id>/remove": lambda found: Act("olivia", {"view_id": saved_view(found.tenant).pk}),
    "/audit/streams/new": lambda _: Act("olivia", form={"name": "lake", "url": ADDRESS}, changes=True),
    "/audit/streams/<uuid:stream_id>/change": _on_stream({"name": "lake", "url": ADDRESS}, changes=True),
    "/audit/streams/<uuid:stream_id>/switch": _on_stream({}, changes=True),
    "/audit/streams/<uuid:stream_id>/rotate": _on_stream({}),
    "/audit/streams/<uuid:stream_id>/test": _on_stream({}),
    "/audit/streams/<uuid:stream_id>/remove": _on_stream({}),
    "/audit/keeping/set": lambda _: Act("olivia", form={"keep_days": "400"}, changes=True),
    "/approvals/<uuid:approval_id>/approve": _decide,
    "/approvals/<uuid:approval_id>/refuse": _decide,
    "/approvals/<uuid:approval_id>/withdraw": _withdraw,
    "/quotas/<uuid:quota_id>/limit": _limit,
    "/quotas/<uuid:quota_id>/ask": _ask_for_quota,
    "/quotas/define": _define_quota,
}
