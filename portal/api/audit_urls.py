"""Addresses of the audit log."""

from __future__ import annotations

from django.urls import path

from portal.api import audit, audit_setup

urlpatterns = [
    path("audit-events", audit.AuditEvents.as_view()),
    path("audit-events/export", audit.AuditExport.as_view()),
    path("audit-events/<uuid:event_id>", audit.AuditEventDetail.as_view()),
    path("audit-views", audit_setup.AuditViews.as_view()),
    path("audit-views/<uuid:view_id>", audit_setup.AuditViewDetail.as_view()),
    path("audit-streams", audit_setup.AuditStreams.as_view()),
    path("audit-streams/<uuid:stream_id>", audit_setup.AuditStreamDetail.as_view()),
    path("audit-streams/<uuid:stream_id>/rotate", audit_setup.RotateStreamSecret.as_view()),
    path("audit-streams/<uuid:stream_id>/test", audit_setup.TestStream.as_view()),
    path("audit-keeping", audit_setup.AuditKeeping.as_view()),
]
