"""Addresses of the pages of policies."""

from __future__ import annotations

from django.urls import path

from portal.web.policies import pages

urlpatterns = [
    path("policies", pages.policy_list, name="policies"),
    path("policies/new", pages.policy_new, name="policy-new"),
    path("policies/preview", pages.policy_preview, name="policy-preview"),
    path("policies/<uuid:policy_id>", pages.policy_edit, name="policy-edit"),
    path("policies/<uuid:policy_id>/retire", pages.policy_retire, name="policy-retire"),
]
