"""Every page of the showroom: its address, its template, its made-up context."""

from __future__ import annotations

from collections.abc import Mapping

from tests.look import money, proof, samples, work
from tests.look.samples import Sample

PAGES: Mapping[str, Sample] = {
    "kitchen": Sample("portal/kitchen.html", samples.kitchen),
    "home": Sample("portal/home.html", work.home),
    "home-empty": Sample("portal/home.html", work.home_empty),
    "workloads": Sample("portal/workloads/list.html", work.workloads),
    "workloads-empty": Sample("portal/workloads/list.html", work.workloads_empty),
    "workloads/rows": Sample("portal/workloads/_rows.html", work.workloads),
    "launch": Sample("portal/workloads/launch.html", work.launch),
    "launch-refused": Sample("portal/workloads/launch.html", work.launch_refused),
    "launch/panel": Sample("portal/workloads/_panel.html", work.launch),
    "workload": Sample("portal/workloads/detail.html", work.running),
    "workload-failed": Sample("portal/workloads/detail.html", work.failed),
    "workload-retrying": Sample("portal/workloads/detail.html", work.retrying),
    "workload-sweep": Sample("portal/workloads/detail.html", work.sweeping),
    "workload/artifacts": Sample("portal/workloads/_artifacts.html", work.sweeping),
    "workload/pods": Sample("portal/workloads/_pods.html", work.running),
    "workload/cluster-events": Sample("portal/workloads/_happenings.html", work.running),
    "workload/tasks": Sample("portal/workloads/_tasks.html", work.sweeping),
    "workload/attempts": Sample("portal/workloads/_attempts.html", work.retrying),
    "workload/head": Sample("portal/workloads/_head.html", work.running),
    "workload/timeline": Sample("portal/workloads/_timeline.html", work.running),
    "workload/cost": Sample("portal/workloads/_cost.html", work.running),
    "workload/stops": Sample("portal/workloads/_stops.html", work.running),
    "workload/warning": Sample("portal/workloads/_warning.html", work.running),
    "workload/logs": Sample("portal/workloads/_logs.html", work.running),
    "workload/activity": Sample("portal/workloads/_activity.html", work.running),
    "volumes": Sample("portal/volumes/list.html", work.volumes),
    "volumes-empty": Sample("portal/volumes/list.html", dict),
    "usage": Sample("portal/usage/month.html", money.usage),
    "usage-empty": Sample("portal/usage/month.html", money.usage_empty),
    "invoice": Sample("portal/invoices/draft.html", money.invoice),
    "invoice-empty": Sample("portal/invoices/draft.html", money.invoice_empty),
    "quotas": Sample("portal/quotas/list.html", money.quotas),
    "quotas-empty": Sample("portal/quotas/list.html", lambda: {"project": "vision"}),
    "audit": Sample("portal/audit/list.html", money.audit),
    "audit-empty": Sample("portal/audit/list.html", money.audit_empty),
    "audit-event": Sample("portal/audit/event.html", money.audit_event),
    "audit-streams": Sample("portal/audit/streams.html", proof.streams),
    "audit-streams-empty": Sample("portal/audit/streams.html", proof.streams_empty),
    "audit-streams/rows": Sample("portal/audit/_streams.html", proof.streams),
    "audit-keeping": Sample("portal/audit/keeping.html", proof.keeping),
    "audit-event-denied": Sample("portal/audit/event.html", money.audit_event_denied),
    "tokens": Sample("portal/tokens/list.html", money.tokens),
    "tokens-empty": Sample("portal/tokens/list.html", money.tokens_empty),
    "login": Sample("account/login.html", samples.sign_in),
    "login-refused": Sample("account/login.html", samples.sign_in_refused),
    "logout": Sample("account/logout.html"),
    "password-change": Sample("account/password_change.html", samples.new_password),
    "password-set": Sample("account/password_set.html", samples.new_password),
    "password-reset": Sample("account/password_reset.html", samples.sign_in),
    "password-reset-done": Sample("account/password_reset_done.html"),
    "password-from-key": Sample("account/password_reset_from_key.html", samples.new_password),
    "password-from-key-failed": Sample("account/password_reset_from_key.html", lambda: {"token_fail": True}),
    "password-from-key-done": Sample("account/password_reset_from_key_done.html"),
    "reauthenticate": Sample("account/reauthenticate.html", samples.sign_in),
    "inactive": Sample("account/account_inactive.html"),
    "signup-closed": Sample("account/signup_closed.html"),
    "sessions": Sample("usersessions/usersession_list.html", samples.sessions),
    "400": Sample("400.html", status=400),
    "403": Sample("403.html", status=403),
    "403-csrf": Sample("403_csrf.html", status=403),
    "404": Sample("404.html", status=404),
    "refused": Sample("refused.html", samples.refused, status=409),
    "429": Sample("429.html", status=429),
    "500": Sample("500.html", status=500),
}

PARTS = tuple(name for name in PAGES if "/" in name)
"""Live parts: answered alone, never opened as pages."""
WHOLE = tuple(name for name in PAGES if "/" not in name)
