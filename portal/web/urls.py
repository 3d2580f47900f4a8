"""Addresses of the portal's pages."""

from __future__ import annotations

from django.urls import path

from portal.web import account, approvals, invoices, quotas, switch, tokens, usage, volumes
from portal.web.audit.urls import urlpatterns as audit_urls
from portal.web.console import approvals as console_approvals
from portal.web.console import audit as console_audit
from portal.web.console import fleet, governing, impersonation, isolation, people
from portal.web.console import policies as console_policies
from portal.web.console import tenants as console_tenants
from portal.web.console.cluster_urls import urlpatterns as cluster_urls
from portal.web.home import home
from portal.web.organization.urls import urlpatterns as organization_urls
from portal.web.policies.urls import urlpatterns as policy_urls
from portal.web.sign_in import coming, ruling
from portal.web.workloads import acts, artifacts, detail, inside, job_page, launch, rows

urlpatterns = [
    path("", home, name="home"),
    path("switch/organization/<slug:slug>", switch.switch_organization, name="switch-organization"),
    path("switch/project/<slug:slug>", switch.switch_project, name="switch-project"),
    path("launch", launch.launch_page, name="launch"),
    path("launch/panel", launch.launch_panel, name="launch-panel"),
    path("workspaces", rows.workload_list, name="workloads"),
    path("workspaces/<uuid:workload_id>", detail.workload_detail, name="workload"),
    path("workspaces/<uuid:workload_id>/head", detail.head_part, name="workload-head"),
    path("workspaces/<uuid:workload_id>/timeline", detail.timeline_part, name="workload-timeline"),
    path("workspaces/<uuid:workload_id>/cost", detail.cost_part, name="workload-cost"),
    path("workspaces/<uuid:workload_id>/stops", detail.stops_part, name="workload-stops"),
    path("workspaces/<uuid:workload_id>/warning", detail.warning_part, name="workload-warning"),
    path("workspaces/<uuid:workload_id>/activity", detail.activity_part, name="workload-activity"),
    path("workspaces/<uuid:workload_id>/attempts", job_page.attempts_part, name="workload-attempts"),
    path("workspaces/<uuid:workload_id>/artifacts", artifacts.artifacts_part, name="workload-artifacts"),
    path("workspaces/<uuid:workload_id>/artifacts/content", artifacts.artifact_file, name="workload-artifact"),
    path("workspaces/<uuid:workload_id>/pods", inside.pods_part, name="workload-pods"),
    path("workspaces/<uuid:workload_id>/cluster-events", inside.happenings_part, name="workload-cluster-events"),
    path("workspaces/<uuid:workload_id>/tasks", job_page.tasks_part, name="workload-tasks"),
    path("workspaces/<uuid:workload_id>/logs", acts.workload_logs, name="workload-logs"),
    path("workspaces/<uuid:workload_id>/manifests", acts.workload_manifests, name="workload-manifests"),
    path("workspaces/<uuid:workload_id>/open", acts.workload_open, name="workload-open"),
    path("workspaces/<uuid:workload_id>/stop", acts.workload_stop, name="workload-stop"),
    path("workspaces/<uuid:workload_id>/start", acts.workload_start, name="workload-start"),
    path("workspaces/<uuid:workload_id>/keep", acts.workload_keep, name="workload-keep"),
    path("workspaces/<uuid:workload_id>/delete", acts.workload_delete, name="workload-delete"),
    path("workspaces/<uuid:workload_id>/force-delete", acts.workload_force_delete, name="workload-force"),
    path("disks", volumes.volume_list, name="volumes"),
    path("usage", usage.usage_month, name="usage"),
    path("usage.csv", usage.usage_csv, name="usage-csv"),
    path("invoice", usage.invoice_draft, name="invoice-draft"),
    path("invoices", invoices.invoice_list, name="invoices"),
    path("invoices/<uuid:invoice_id>", invoices.invoice_page, name="invoice"),
    path("invoices/<uuid:invoice_id>/lines/<int:position>", invoices.invoice_line, name="invoice-line"),
    path("quotas", quotas.quota_list, name="quotas"),
    path("quotas/define", quotas.quota_define, name="quota-define"),
    path("quotas/<uuid:quota_id>/limit", quotas.quota_limit, name="quota-limit"),
    path("quotas/<uuid:quota_id>/ask", quotas.quota_ask, name="quota-ask"),
    *audit_urls,
    path("approvals", approvals.approval_list, name="approvals"),
    path("approvals/<uuid:approval_id>/approve", approvals.approval_approve, name="approval-approve"),
    path("approvals/<uuid:approval_id>/refuse", approvals.approval_refuse, name="approval-refuse"),
    path("approvals/<uuid:approval_id>/withdraw", approvals.approval_withdraw, name="approval-withdraw"),
    *organization_urls,
    *policy_urls,
    path("tokens", tokens.token_list, name="tokens"),
    path("organization/service-accounts/<uuid:account_id>/tokens", tokens.account_tokens, name="account-tokens"),
    path("tokens/<uuid:token_id>/revoke", tokens.token_revoke, name="token-revoke"),
    path("tokens/<uuid:token_id>/rotate", tokens.token_rotate, name="token-rotate"),
    path("sign-in/organization", coming.start, name="sso-start"),
    path("sign-in/callback", coming.callback, name="sso-callback"),
    path("sign-in/link", coming.link, name="sso-link"),
    path("sign-in/linked", coming.linked, name="sso-linked"),
    path("sign-in/unlink", coming.unlink, name="sso-unlink"),
    path("organization/sign-in", ruling.sign_in, name="sign-in"),
    path("organization/sign-in/second-factor", ruling.second_factor, name="sign-in-second-factor"),
    path("organization/sign-in/provider", ruling.provider, name="sign-in-provider"),
    path("organization/sign-in/provider/remove", ruling.provider_remove, name="sign-in-provider-remove"),
    path("organization/sign-in/groups", ruling.group_map, name="sign-in-group"),
    path("organization/sign-in/groups/<uuid:mapping_id>/remove", ruling.group_unmap, name="sign-in-group-remove"),
    path("organization/sign-in/domains", ruling.domain_add, name="sign-in-domain"),
    path("organization/sign-in/domains/<uuid:domain_id>/check", ruling.domain_check, name="sign-in-domain-check"),
    path("organization/sign-in/domains/<uuid:domain_id>/remove", ruling.domain_remove, name="sign-in-domain-remove"),
    path("console/audit", console_audit.audit_list, name="console-audit"),
    path("console/audit/export", console_audit.audit_export, name="console-audit-export"),
    path("console/audit/<uuid:event_id>", console_audit.audit_event, name="console-audit-event"),
    path("console/", console_tenants.tenant_list, name="console-tenants"),
    path("console/tenants/<slug:slug>", console_tenants.tenant_detail, name="console-tenant"),
    path("console/tenants/<slug:slug>/act-for/<uuid:person_id>", impersonation.impersonate, name="console-impersonate"),
    path("console/fleet", fleet.fleet, name="console-fleet"),
    path("console/people", people.people_list, name="console-people"),
    path("console/people/<uuid:person_id>", people.person, name="console-person"),
    path("console/people/<uuid:person_id>/erase", people.person_erase, name="console-person-erase"),
    *cluster_urls,
    path("console/isolation", isolation.isolation, name="console-isolation"),
    path("console/isolation/<uuid:report_id>", isolation.isolation_report, name="console-isolation-report"),
    path("console/isolation/<uuid:report_id>/report.json", isolation.isolation_file, name="console-isolation-file"),
    path("console/found", governing.found, name="console-found"),
    path("console/tenants/<slug:slug>/owner", governing.invite_owner, name="console-invite-owner"),
    path("console/tenants/<slug:slug>/suspend", governing.suspend, name="console-suspend"),
    path("console/tenants/<slug:slug>/restore", governing.restore, name="console-restore"),
    path("console/tenants/<slug:slug>/quota", governing.set_quota, name="console-quota"),
    path("console/approvals", console_approvals.approval_list, name="console-approvals"),
    path(
        "console/approvals/<slug:slug>/<uuid:approval_id>/approve",
        console_approvals.approval_approve,
        name="console-approval-approve",
    ),
    path(
        "console/approvals/<slug:slug>/<uuid:approval_id>/refuse",
        console_approvals.approval_refuse,
        name="console-approval-refuse",
    ),
    path("console/policies", console_policies.policy_list, name="console-policies"),
    path("console/policies/new", console_policies.policy_new, name="console-policy-new"),
    path("console/policies/preview", console_policies.policy_preview, name="console-policy-preview"),
    path("console/policies/<uuid:policy_id>", console_policies.policy_edit, name="console-policy-edit"),
    path("console/policies/<uuid:policy_id>/retire", console_policies.policy_retire, name="console-policy-retire"),
    path("account/erase", account.account_erase, name="account-erase"),
    path("acting/end", impersonation.end_impersonation, name="impersonation-end"),
]
