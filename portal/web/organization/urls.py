"""Addresses of the organisation's pages, and of the way into it."""

from __future__ import annotations

from django.urls import path

from portal.web.organization import handover, members, projects, service_accounts, settings_page, teams
from portal.web.organization.join import join

urlpatterns = [
    path("join", join, name="join"),
    path("organization/settings", settings_page.organization_settings, name="organization"),
    path("organization/settings/change", settings_page.organization_change, name="organization-change"),
    path("organization/roles", settings_page.role_page, name="roles"),
    path("organization/leave", members.leave, name="organization-leave"),
    path("organization/transfer", handover.transfer, name="organization-transfer"),
    path("organization/close", handover.close, name="organization-close"),
    path("organization/members", members.member_list, name="members"),
    path("organization/members/<uuid:member_id>", members.member_detail, name="member"),
    path("organization/members/<uuid:member_id>/give", members.member_give, name="member-give"),
    path("organization/members/<uuid:member_id>/remove", members.member_remove, name="member-remove"),
    path(
        "organization/memberships/<uuid:membership_id>/take-back",
        members.membership_take_back,
        name="membership-take-back",
    ),
    path("organization/invitations", members.invite, name="invite"),
    path("organization/invitations/<uuid:invitation_id>/resend", members.invitation_resend, name="invitation-resend"),
    path("organization/invitations/<uuid:invitation_id>/revoke", members.invitation_revoke, name="invitation-revoke"),
    path("organization/teams", teams.team_list, name="teams"),
    path("organization/teams/new", teams.team_new, name="team-new"),
    path("organization/teams/<uuid:team_id>", teams.team_detail, name="team"),
    path("organization/teams/<uuid:team_id>/rename", teams.team_rename, name="team-rename"),
    path("organization/teams/<uuid:team_id>/delete", teams.team_delete, name="team-delete"),
    path("organization/projects", projects.project_list, name="projects"),
    path("organization/projects/new", projects.project_new, name="project-new"),
    path("organization/projects/<uuid:project_id>", projects.project_detail, name="project"),
    path("organization/projects/<uuid:project_id>/change", projects.project_change, name="project-change"),
    path("organization/projects/<uuid:project_id>/close", projects.project_close, name="project-close"),
    path("organization/service-accounts", service_accounts.service_account_list, name="service-accounts"),
    path("organization/service-accounts/new", service_accounts.service_account_new, name="service-account-new"),
    path(
        "organization/service-accounts/<uuid:account_id>/disable",
        service_accounts.service_account_disable,
        name="service-account-disable",
    ),
]
