"""Addresses of the console's pages about clusters and what leaks there."""

from __future__ import annotations

from django.urls import path

from portal.web.console import cluster_acts, cluster_forms, clusters, leaks

_ONE = "console/clusters/<slug:slug>"
urlpatterns = [
    path("console/leaks", leaks.leak_list, name="console-leaks"),
    path("console/leaks/<uuid:leak_id>/remove", leaks.leak_remove, name="console-leak-remove"),
    path("console/clusters", clusters.cluster_list, name="console-clusters"),
    path("console/clusters/new", cluster_forms.register_page, name="console-cluster-new"),
    path("console/clusters/new/try", cluster_forms.register_try, name="console-cluster-try"),
    path("console/clusters/new/access.yaml", cluster_forms.access_manifest, name="console-cluster-access"),
    path(_ONE, clusters.cluster_detail, name="console-cluster"),
    path(f"{_ONE}/check", cluster_acts.check, name="console-cluster-check"),
    path(f"{_ONE}/change", cluster_acts.change, name="console-cluster-change"),
    path(f"{_ONE}/cordon", cluster_acts.cordon, name="console-cluster-cordon"),
    path(f"{_ONE}/uncordon", cluster_acts.uncordon, name="console-cluster-uncordon"),
    path(f"{_ONE}/drain", cluster_acts.drain, name="console-cluster-drain"),
    path(f"{_ONE}/remove", cluster_acts.remove, name="console-cluster-remove"),
    path(f"{_ONE}/credentials", cluster_forms.credentials, name="console-cluster-credentials"),
]
