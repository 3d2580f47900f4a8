"""One act that succeeds for each mutating route of the API. A route without one fails the build.

A scenario gets a tenant like aurora and gives what to send: by whom, to which object, with which body.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from portal.api.audit_setup import NewStreamInput, NewViewInput
from provisioning.api.inputs import LaunchInput
from provisioning.api.policy_preview import PreviewInput
from provisioning.models import Workload
from provisioning.services import wishes
from tenants.api.place_inputs import NewInvitationInput
from tenants.api.policies import NewPolicyInput
from tenants.api.sign_in import NewDomainInput, ProviderInput
from tenants.enums import PlatformRole
from tenants.models import AccessToken, Approval, Quota, ServiceAccount
from tenants.services import quota_requests, service_accounts
from tests import governed, house, places, signing_in
from tests.api import fleet, money
from tests.api.acts import Act, Scenario
from tests.house import Tenant
from tests.proof import saved_view, stream
from tests.provisioning import stage


def _make_token(_tenant: Tenant) -> Act:
    return Act("alice", {"name": "laptop"})


def _revoke_token(tenant: Tenant) -> Act:
    house.token_for(tenant, "alice")
    with tenant.scope():
        token = AccessToken.objects.filter(user=tenant.people["alice"]).latest("pk")
    return Act("alice", ids={"token_id": token.pk})


def _rotate_token(tenant: Tenant) -> Act:
    return replace(_revoke_token(tenant), body={"overlap_seconds": 60})


def _make_account_token(tenant: Tenant) -> Act:
    return Act("olivia", {"name": "nightly"}, {"account_id": service_account(tenant).pk})


def service_account(tenant: Tenant) -> ServiceAccount:
    with house.an_act(), tenant.scope():
        return service_accounts.create(
            actor=tenant.actor("olivia"), organization=tenant.organization, name="nightly", now=timezone.now()
        )


def _remove_provider(tenant: Tenant) -> Act:
    signing_in.provider(tenant)
    return Act("olivia")


def _on_domain(tenant: Tenant) -> Act:
    return Act("olivia", ids={"domain_id": signing_in.domain(tenant).pk})


def _set_limit(tenant: Tenant) -> Act:
    return Act("olivia", {"limit": 11}, {"quota_id": quota_of(tenant).pk})


def _define_quota(tenant: Tenant) -> Act:
    scope = {"kind": "user", "id": str(tenant.people["alice"].pk)}
    return Act("olivia", {"scope": scope, "resource": "vcpus", "limit": 64})


def _ask_for_quota(tenant: Tenant) -> Act:
    asked = {"quota": str(quota_of(tenant).pk), "limit": 99, "justification": "The benchmark of the new encoder."}
    return Act("alice", asked)


def _decide_on_quota(tenant: Tenant) -> Act:
    return Act("olivia", {"comment": "Until Friday."}, {"request_id": quota_request(tenant).pk})


def quota_request(tenant: Tenant) -> Approval:
    """Alice's wish for more of the first quota."""
    with house.an_act(), tenant.scope():
        return quota_requests.ask(
            actor=tenant.actor("alice"),
            quota_id=quota_of(tenant).pk,
            limit=99,
            justification="The benchmark of the new encoder.",
            until=None,
            now=timezone.now(),
        )


def _launch(_tenant: Tenant) -> Act:
    stage.open_shop()
    return Act("alice", LaunchInput.example)


def _rename(tenant: Tenant) -> Act:
    return Act("alice", {"name": "training"}, {"workload_id": running(tenant).pk})


def _wish_for_running(tenant: Tenant) -> Act:
    return Act("alice", ids={"workload_id": running(tenant).pk})


def _wish_for_stopped(tenant: Tenant) -> Act:
    return Act("alice", ids={"workload_id": stopped(tenant).pk})


def _decide(tenant: Tenant) -> Act:
    return Act("olivia", {"comment": "Go on."}, {"approval_id": governed.asked(tenant).pk})


def _withdraw(tenant: Tenant) -> Act:
    return Act("alice", ids={"approval_id": governed.asked(tenant).pk})


def _change_policy(tenant: Tenant) -> Act:
    return Act("olivia", {"mode": "enforce"}, {"policy_id": governed.ruled(tenant).pk})


def _retire_policy(tenant: Tenant) -> Act:
    return Act("olivia", ids={"policy_id": governed.ruled(tenant).pk})


def _force_a_delete(tenant: Tenant) -> Act:
    return Act("olivia", ids={"workload_id": hanging(tenant).pk})


def hanging(tenant: Tenant) -> Workload:
    """Alice's notebook, being deleted on a cluster that does not answer."""
    workload = running(tenant)
    stage.wish(tenant, "alice", wishes.delete, workload, timezone.now())
    return stage.fresh(tenant, workload)


def running(tenant: Tenant) -> Workload:
    """Alice's notebook, up for a minute."""
    stage.open_shop()
    clock = stage.Clock(timezone.now() - timedelta(minutes=2))
    workload = stage.launch(tenant, now=clock.now)
    return stage.settle(tenant, workload, stage.Machine(clock), clock)


def stopped(tenant: Tenant) -> Workload:
    stage.open_shop()
    clock = stage.Clock(timezone.now() - timedelta(minutes=2))
    machine = stage.Machine(clock)
    workload = stage.settle(tenant, stage.launch(tenant, now=clock.now), machine, clock)
    stage.wish(tenant, "alice", wishes.stop, workload, clock.now)
    return stage.settle(tenant, workload, machine, clock)


def quota_of(tenant: Tenant) -> Quota:
    with tenant.scope():
        return Quota.objects.filter(project__in=tenant.projects.values()).earliest("pk")


def _own(tenant: Tenant, body: object = None) -> Act:
    return Act("olivia", body, {"organization_id": tenant.organization.pk})


def _on_team(tenant: Tenant) -> Act:
    return Act("olivia", {"name": "Seeing"}, {"team_id": places.team(tenant).pk})


def _on_vision(tenant: Tenant) -> Act:
    return Act("olivia", {"data_class": "restricted"}, {"project_id": tenant.projects["vision"].pk})


def _give_a_role(tenant: Tenant) -> Act:
    return Act("olivia", {"user": str(tenant.people["bob"].pk), "project": "aurora/language", "role": "viewer"})


def _on_membership(tenant: Tenant) -> Act:
    return Act("olivia", {"role": "viewer"}, {"membership_id": places.membership_of(tenant, "bob").pk})


def _on_invitation(tenant: Tenant) -> Act:
    return Act("olivia", ids={"invitation_id": places.invited(tenant)[0].pk})


def _on_account(tenant: Tenant) -> Act:
    return Act("olivia", {"description": "Nightly."}, {"account_id": places.account(tenant).pk})


def _erase_alice(tenant: Tenant) -> Act:
    house.platform_person(tenant, "petra", PlatformRole.ADMIN)
    alice = tenant.people["alice"]
    return Act("petra", {"email": alice.email, "reason": "Asked for in ticket 4711."}, {"person_id": alice.pk})


def _without_body(scenario: Scenario) -> Scenario:
    return lambda tenant: replace(scenario(tenant), body=None)


_TEAM = "/api/v1/teams/<uuid:team_id>"
_PROJECT = "/api/v1/projects/<uuid:project_id>"
_MEMBERSHIP = "/api/v1/memberships/<uuid:membership_id>"
_INVITATION = "/api/v1/invitations/<uuid:invitation_id>"
_ACCOUNT = "/api/v1/service-accounts/<uuid:account_id>"
_ORGANIZATION = "/api/v1/organizations/<uuid:organization_id>"


def _on_stream(body: object = None) -> Scenario:
    return lambda tenant: Act("olivia", body, {"stream_id": stream(tenant).pk})


_STREAM = "/api/v1/audit-streams/<uuid:stream_id>"
_WORKLOAD = "/api/v1/workloads/<uuid:workload_id>"
SCENARIOS: dict[str, Scenario] = {
    "DELETE /api/v1/me": lambda _: Act("alice", {"email": "alice@aurora.example", "password": house.PASSWORD}),
    "DELETE /api/v1/people/<uuid:person_id>": _erase_alice,
    **fleet.SCENARIOS,
    **money.SCENARIOS,
    "POST /api/v1/audit-views": lambda _: Act("olivia", NewViewInput.example),
    "DELETE /api/v1/audit-views/<uuid:view_id>": lambda found: Act("olivia", ids={"view_id": saved_view(found).pk}),
    "POST /api/v1/audit-streams": lambda _: Act("olivia", NewStreamInput.example),
    f"PATCH {_STREAM}": _on_stream({"name": "lake"}),
    f"DELETE {_STREAM}": _on_stream(),
    f"POST {_STREAM}/rotate": _on_stream(),
    f"POST {_STREAM}/test": _on_stream(),
    "PUT /api/v1/audit-keeping": lambda _: Act("olivia", {"keep_days": 400}),
    "PATCH /api/v1/sign-in": lambda _: Act("olivia", {"mfa_required": False}),
    "PUT /api/v1/identity-provider": lambda _: Act("olivia", ProviderInput.example),
    "DELETE /api/v1/identity-provider": _remove_provider,
    "POST /api/v1/email-domains": lambda _: Act("olivia", NewDomainInput.example),
    "DELETE /api/v1/email-domains/<uuid:domain_id>": _on_domain,
    "POST /api/v1/email-domains/<uuid:domain_id>/check": _on_domain,
    f"PATCH {_ORGANIZATION}": lambda tenant: _own(tenant, {"name": "Aurora Labs"}),
    f"DELETE {_ORGANIZATION}": lambda tenant: _own(tenant, {"slug": tenant.organization.slug}),
    "POST /api/v1/teams": lambda _: Act("olivia", {"slug": "seeing", "name": "Seeing"}),
    f"PATCH {_TEAM}": _on_team,
    f"DELETE {_TEAM}": _without_body(_on_team),
    "POST /api/v1/projects": lambda _: Act("olivia", {"slug": "robots", "name": "Robots"}),
    f"PATCH {_PROJECT}": _on_vision,
    f"DELETE {_PROJECT}": _without_body(_on_vision),
    "POST /api/v1/memberships": _give_a_role,
    f"PATCH {_MEMBERSHIP}": _on_membership,
    f"DELETE {_MEMBERSHIP}": _without_body(_on_membership),
    "POST /api/v1/invitations": lambda _: Act("olivia", NewInvitationInput.example),
    f"DELETE {_INVITATION}": _on_invitation,
    f"POST {_INVITATION}/resend": _on_invitation,
    "POST /api/v1/service-accounts": lambda _: Act("olivia", {"name": "nightly"}),
    f"PATCH {_ACCOUNT}": _on_account,
    f"DELETE {_ACCOUNT}": _without_body(_on_account),
    "POST /api/v1/tokens": _make_token,
    "POST /api/v1/tokens/<uuid:token_id>/rotate": _rotate_token,
    "POST /api/v1/service-accounts/<uuid:account_id>/tokens": _make_account_token,
    "DELETE /api/v1/tokens/<uuid:token_id>": _revoke_token,
    "POST /api/v1/quotas": _define_quota,
    "PUT /api/v1/quotas/<uuid:quota_id>": _set_limit,
    "POST /api/v1/quota-requests": _ask_for_quota,
    "POST /api/v1/quota-requests/<uuid:request_id>/approve": _decide_on_quota,
    "POST /api/v1/quota-requests/<uuid:request_id>/refuse": _decide_on_quota,
    "POST /api/v1/approvals/<uuid:approval_id>/approve": _decide,
    "POST /api/v1/approvals/<uuid:approval_id>/refuse": _decide,
    "POST /api/v1/approvals/<uuid:approval_id>/withdraw": _withdraw,
    "POST /api/v1/policies/preview": lambda _: Act("olivia", PreviewInput.example),
    "POST /api/v1/policies": lambda _: Act("olivia", NewPolicyInput.example),
    "PATCH /api/v1/policies/<uuid:policy_id>": _change_policy,
    "DELETE /api/v1/policies/<uuid:policy_id>": _retire_policy,
    "POST /api/v1/workloads": _launch,
    f"PATCH {_WORKLOAD}": _rename,
    f"DELETE {_WORKLOAD}": _wish_for_running,
    f"POST {_WORKLOAD}/stop": _wish_for_running,
    f"POST {_WORKLOAD}/start": _wish_for_stopped,
    f"POST {_WORKLOAD}/extend": _wish_for_running,
    f"POST {_WORKLOAD}/open": _wish_for_running,
    f"POST {_WORKLOAD}/force-delete": _force_a_delete,
}
