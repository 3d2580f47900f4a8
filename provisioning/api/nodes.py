"""The nodes of the clusters, for the platform's own people."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.inputs import Filters
from core.api.shapes import shape
from core.routes import route
from provisioning.api.describing import words
from provisioning.enums import Standing
from provisioning.models import Node
from provisioning.selectors.nodes import NodeFilter, nodes_matching
from tenants.enums import PlatformPermission

STANDINGS = words(Standing)


class NodeFilters(Filters[NodeFilter]):
    into = NodeFilter

    cluster = serializers.SlugField(required=False, max_length=40)
    standing = serializers.ChoiceField(STANDINGS, required=False)


class NodeDevicesOutput(serializers.Serializer[object]):
    """Accelerators of one kind. `offered_as`: the model that shapes and quotas name."""

    model = serializers.CharField()
    sharing = serializers.CharField(help_text="whole, or what one of them is a part of.")
    offered_as = serializers.CharField()
    resource = serializers.CharField()
    count = serializers.IntegerField()
    healthy = serializers.IntegerField()
    memory_mib = serializers.IntegerField(allow_null=True)


class OtherDevicesOutput(serializers.Serializer[object]):
    resource = serializers.CharField()
    count = serializers.IntegerField()
    healthy = serializers.IntegerField()


class NodeOutput(serializers.Serializer[object]):
    """As the last list of its cluster told it. Only `in_service` and `degraded` nodes take new work."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    cluster = serializers.CharField()
    standing = serializers.ChoiceField(STANDINGS)
    reason = serializers.CharField(help_text="Why it is not, or not wholly, in service; else empty.")
    vcpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    accelerators = NodeDevicesOutput(many=True)
    others = OtherDevicesOutput(many=True)
    topology = serializers.DictField(child=serializers.CharField())
    interconnect = serializers.DictField(child=serializers.CharField())
    seen_at = serializers.DateTimeField()


class Nodes(Endpoint):
    @route(permission=PlatformPermission.OPERATE_FLEET, verb="node.listed")
    @shape(summary="List nodes", output=NodeOutput, listed=True, filters=NodeFilters)
    def get(self, request: Request) -> HttpResponse:
        """Those that their cluster has now, for the platform's own people."""
        return self.page(nodes_matching(self.actor, self.filters(NodeFilters)), _rows)


def _rows(nodes: Sequence[Node]) -> list[dict[str, object]]:
    return [_row(node) for node in nodes]


def _row(node: Node) -> dict[str, object]:
    topology = dict(node.topology)
    return {
        "id": node.pk,
        "name": node.name,
        "cluster": node.cluster.slug,
        "standing": node.standing,
        "reason": node.reason,
        "vcpus": node.allocatable["cpu_millis"] // 1000,
        "memory_gib": node.allocatable["memory_bytes"] // 1024**3,
        "accelerators": node.allocatable["accelerators"],
        "others": node.allocatable["others"],
        "interconnect": topology.pop("interconnect", {}),
        "topology": topology,
        "seen_at": node.seen_at,
    }
