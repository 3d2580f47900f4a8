"""Addresses of the audit log."""

from __future__ import annotations

from django.urls import path

from portal.web.audit import export, log, views

urlpatterns = [
    path("audit", log.audit_list, name="audit"),
    path("audit/export", export.audit_export, name="audit-export"),
    path("audit/views", views.view_save, name="audit-view-save"),
    path("audit/views/<uuid:view_id>/remove", views.view_remove, name="audit-view-remove"),
    path("audit/<uuid:event_id>", log.audit_event, name="audit-event"),
]
