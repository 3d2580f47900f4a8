"""Addresses of the audit log."""

from __future__ import annotations

from django.urls import path

from portal.web.audit import export, keeping, log, streams, views

urlpatterns = [
    path("audit", log.audit_list, name="audit"),
    path("audit/export", export.audit_export, name="audit-export"),
    path("audit/views", views.view_save, name="audit-view-save"),
    path("audit/views/<uuid:view_id>/remove", views.view_remove, name="audit-view-remove"),
    path("audit/streams", streams.stream_list, name="audit-streams"),
    path("audit/streams/new", streams.stream_new, name="audit-stream-new"),
    path("audit/streams/<uuid:stream_id>/change", streams.stream_change, name="audit-stream-change"),
    path("audit/streams/<uuid:stream_id>/switch", streams.stream_switch, name="audit-stream-switch"),
    path("audit/streams/<uuid:stream_id>/rotate", streams.stream_rotate, name="audit-stream-rotate"),
    path("audit/streams/<uuid:stream_id>/test", streams.stream_test, name="audit-stream-test"),
    path("audit/streams/<uuid:stream_id>/remove", streams.stream_remove, name="audit-stream-remove"),
    path("audit/keeping", keeping.keeping, name="audit-keeping"),
    path("audit/keeping/set", keeping.keeping_set, name="audit-keeping-set"),
    path("audit/verifier.py", keeping.verifier, name="audit-verifier"),
    path("audit/<uuid:event_id>", log.audit_event, name="audit-event"),
]
