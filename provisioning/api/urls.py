"""Addresses of provisioning. A workload is opened through the portal's part, which knows the proxy's origins."""

from __future__ import annotations

from django.urls import path

from provisioning.api import (
    artifacts,
    catalogue,
    clusters,
    history,
    inside,
    jobs,
    nodes,
    policy_preview,
    volumes,
    workloads,
)

urlpatterns = [
    path("regions", catalogue.Regions.as_view()),
    path("regions/<uuid:region_id>", catalogue.Region.as_view()),
    path("accelerators", catalogue.Accelerators.as_view()),
    path("accelerators/<uuid:accelerator_id>", catalogue.Accelerator.as_view()),
    path("shapes", catalogue.Shapes.as_view()),
    path("shapes/<uuid:shape_id>", catalogue.Shape.as_view()),
    path("images", catalogue.Images.as_view()),
    path("images/<uuid:image_id>", catalogue.Image.as_view()),
    path("clusters", clusters.Clusters.as_view()),
    path("clusters/<uuid:cluster_id>", clusters.Cluster.as_view()),
    path("clusters/<uuid:cluster_id>/cordon", clusters.Cordon.as_view()),
    path("clusters/<uuid:cluster_id>/uncordon", clusters.Uncordon.as_view()),
    path("clusters/<uuid:cluster_id>/drain", clusters.Drain.as_view()),
    path("clusters/<uuid:cluster_id>/check", clusters.Check.as_view()),
    path("clusters/<uuid:cluster_id>/credentials", clusters.Credentials.as_view()),
    path("nodes", nodes.Nodes.as_view()),
    path("workloads", workloads.Workloads.as_view()),
    path("workloads/<uuid:workload_id>", workloads.Workload.as_view()),
    path("workloads/<uuid:workload_id>/stop", workloads.Stop.as_view()),
    path("workloads/<uuid:workload_id>/start", workloads.Start.as_view()),
    path("workloads/<uuid:workload_id>/extend", workloads.Extend.as_view()),
    path("workloads/<uuid:workload_id>/force-delete", workloads.ForceDelete.as_view()),
    path("workloads/<uuid:workload_id>/attempts", jobs.Attempts.as_view()),
    path("workloads/<uuid:workload_id>/artifacts", artifacts.Artifacts.as_view()),
    path("workloads/<uuid:workload_id>/artifacts/content", artifacts.ArtifactContent.as_view()),
    path("workloads/<uuid:workload_id>/pods", inside.Pods.as_view()),
    path("workloads/<uuid:workload_id>/cluster-events", inside.ClusterEvents.as_view()),
    path("workloads/<uuid:workload_id>/tasks", jobs.Tasks.as_view()),
    path("workloads/<uuid:workload_id>/events", history.Events.as_view()),
    path("workloads/<uuid:workload_id>/logs", history.Logs.as_view()),
    path("workloads/<uuid:workload_id>/manifests", history.Manifests.as_view()),
    path("workloads/<uuid:workload_id>/usage", history.Usage.as_view()),
    path("policies/preview", policy_preview.PolicyPreview.as_view()),
    path("volumes", volumes.Volumes.as_view()),
    path("volumes/<uuid:volume_id>", volumes.Volume.as_view()),
]
