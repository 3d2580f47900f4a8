"""The URL root."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from portal import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", include("allauth.urls")),
    path("api/", include("portal.api.urls")),
    path("", include("portal.web.urls")),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("metrics", health.metrics),
]

handler400 = "portal.api.unknown.bad_request"
handler403 = "portal.api.unknown.forbidden"
handler404 = "portal.api.unknown.not_found"
handler500 = "portal.api.unknown.crashed"
