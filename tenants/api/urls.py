"""Addresses of tenancy."""

from __future__ import annotations

from django.urls import path

from tenants.api.approvals import Approval, Approvals, Approve, Refuse, Withdraw
from tenants.api.me import Me
from tenants.api.organizations import (
    Memberships,
    Organization,
    Organizations,
    Project,
    ProjectBySlug,
    Projects,
    Roles,
)
from tenants.api.quotas import Quota, Quotas
from tenants.api.tokens import Token, Tokens

urlpatterns = [
    path("me", Me.as_view()),
    path("tokens", Tokens.as_view()),
    path("tokens/<uuid:token_id>", Token.as_view()),
    path("organizations", Organizations.as_view()),
    path("organizations/<uuid:organization_id>", Organization.as_view()),
    path("projects", Projects.as_view()),
    path("projects/<uuid:project_id>", Project.as_view()),
    path("projects/<slug:organization_slug>/<slug:project_slug>", ProjectBySlug.as_view()),
    path("memberships", Memberships.as_view()),
    path("roles", Roles.as_view()),
    path("approvals", Approvals.as_view()),
    path("approvals/<uuid:approval_id>", Approval.as_view()),
    path("approvals/<uuid:approval_id>/approve", Approve.as_view()),
    path("approvals/<uuid:approval_id>/refuse", Refuse.as_view()),
    path("approvals/<uuid:approval_id>/withdraw", Withdraw.as_view()),
    path("quotas", Quotas.as_view()),
    path("quotas/<uuid:quota_id>", Quota.as_view()),
]
