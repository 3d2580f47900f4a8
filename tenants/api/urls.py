"""Addresses of tenancy."""

from __future__ import annotations

from django.urls import path

from tenants.api.approvals import Approval, Approvals, Approve, Refuse, Withdraw
from tenants.api.invitations import Invitation, Invitations, Resend
from tenants.api.memberships import Membership, Memberships
from tenants.api.organizations import Organizations, Roles
from tenants.api.policies import Policies, Policy
from tenants.api.projects import Project, ProjectBySlug, Projects
from tenants.api.quota_requests import ApproveQuotaRequest, QuotaRequests, RefuseQuotaRequest
from tenants.api.quotas import Quota, Quotas
from tenants.api.service_accounts import ServiceAccount, ServiceAccounts
from tenants.api.sign_in import CheckDomain, Domain, Domains, Provider, SignIn
from tenants.api.teams import Team, Teams
from tenants.api.tokens import ServiceAccountTokens, Token, TokenRotate, Tokens

urlpatterns = [
    path("sign-in", SignIn.as_view()),
    path("identity-provider", Provider.as_view()),
    path("email-domains", Domains.as_view()),
    path("email-domains/<uuid:domain_id>", Domain.as_view()),
    path("email-domains/<uuid:domain_id>/check", CheckDomain.as_view()),
    path("tokens", Tokens.as_view()),
    path("tokens/<uuid:token_id>", Token.as_view()),
    path("tokens/<uuid:token_id>/rotate", TokenRotate.as_view()),
    path("service-accounts/<uuid:account_id>/tokens", ServiceAccountTokens.as_view()),
    path("organizations", Organizations.as_view()),
    path("projects", Projects.as_view()),
    path("projects/<uuid:project_id>", Project.as_view()),
    path("projects/<slug:organization_slug>/<slug:project_slug>", ProjectBySlug.as_view()),
    path("teams", Teams.as_view()),
    path("teams/<uuid:team_id>", Team.as_view()),
    path("memberships", Memberships.as_view()),
    path("memberships/<uuid:membership_id>", Membership.as_view()),
    path("invitations", Invitations.as_view()),
    path("invitations/<uuid:invitation_id>", Invitation.as_view()),
    path("invitations/<uuid:invitation_id>/resend", Resend.as_view()),
    path("service-accounts", ServiceAccounts.as_view()),
    path("service-accounts/<uuid:account_id>", ServiceAccount.as_view()),
    path("roles", Roles.as_view()),
    path("approvals", Approvals.as_view()),
    path("approvals/<uuid:approval_id>", Approval.as_view()),
    path("approvals/<uuid:approval_id>/approve", Approve.as_view()),
    path("approvals/<uuid:approval_id>/refuse", Refuse.as_view()),
    path("approvals/<uuid:approval_id>/withdraw", Withdraw.as_view()),
    path("policies", Policies.as_view()),
    path("policies/<uuid:policy_id>", Policy.as_view()),
    path("quotas", Quotas.as_view()),
    path("quotas/<uuid:quota_id>", Quota.as_view()),
    path("quota-requests", QuotaRequests.as_view()),
    path("quota-requests/<uuid:request_id>/approve", ApproveQuotaRequest.as_view()),
    path("quota-requests/<uuid:request_id>/refuse", RefuseQuotaRequest.as_view()),
]
