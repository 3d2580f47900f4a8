"""Every address of the API. Each app brings its own; here they are joined."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from portal.api.documentation import docs, openapi
from portal.api.opening import OpenWorkload
from portal.api.organizations import Organization
from portal.api.people import Me, People, Person
from portal.api.unknown import unknown

urlpatterns: list[URLPattern | URLResolver] = [
    path("v1/openapi.json", openapi, name="openapi"),
    path("v1/docs", docs, name="api-docs"),
    path("v1/", include("portal.api.audit_urls")),
    path("v1/", include("tenants.api.urls")),
    path("v1/me", Me.as_view()),
    path("v1/people", People.as_view()),
    path("v1/people/<uuid:person_id>", Person.as_view()),
    path("v1/organizations/<uuid:organization_id>", Organization.as_view()),
    path("v1/", include("billing.api.urls")),
    path("v1/workloads/<uuid:workload_id>/open", OpenWorkload.as_view()),
    path("v1/", include("provisioning.api.urls")),
    re_path(r"^", unknown),
]
