"""What nodes have to give, read off node objects as clusters of several vendors write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.enums import Standing
from provisioning.inventory import NodeFacts, facts_of, in_service, out_of_service, quantity, whole

MODELS = {
    "NVIDIA-H100-80GB-HBM3": "H100",
    "NVIDIA-A100-SXM4-40GB": "A100-40GB",
    "Tesla-T4": "T4",
    "AMD_Instinct_MI300X_OAM": "MI300X",
}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}


def node(capacity=None, *, labels=None, conditions=(), allocatable=None, name="n1", **spec):
    size = {"cpu": "64", "memory": "512Gi", "pods": "110"} | (capacity or {})
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": spec,
        "status": {
            "capacity": size,
            "allocatable": size | (allocatable or {}),
            "conditions": [READY, *conditions] if not any(c["type"] == "Ready" for c in conditions) else conditions,
        },
    }


def facts(*words, **more) -> NodeFacts:
    return facts_of(node(*words, **more), MODELS)


def h100(count=8, **more) -> NodeFacts:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    return facts({"nvidia.com/gpu": str(count)}, labels=labels, **more)


class TestQuantities:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("0", 0),
            ("64", 64),
            (8, 8),
            ("1k", 10**3),
            ("129M", 129 * 10**6),
            ("123Mi", 123 * 2**20),
            ("1Ki", 2**10),
            ("3Gi", 3 * 2**30),
            ("2Ti", 2**41),
            ("1Pi", 2**50),
            ("1Ei", 2**60),
            ("1G", 10**9),
            ("1T", 10**12),
            ("1P", 10**15),
            ("12E", 12 * 10**18),
            ("12E2", 1200),
            ("129e6", 129 * 10**6),
            ("1e-3", Fraction(1, 1000)),
            ("100m", Fraction(1, 10)),
            ("250u", Fraction(1, 4000)),
            ("7n", Fraction(7, 10**9)),
            (".5", Fraction(1, 2)),
            ("1.", 1),
            ("1.5Gi", 3 * 2**29),
            ("+2", 2),
            ("-2", -2),
        ],
    )
    def test_reads_what_the_api_writes(self, written, value):
        assert quantity(written) == value

    @pytest.mark.parametrize(
        "written", ["", "Gi", "1gi", "1 Gi", "1ki", "1K", "0x1", "1e", "1e999", "٣", "1\n", None, 1.5]
    )
    def test_refuses_the_rest(self, written):
        with pytest.raises(ValueError, match="is not a quantity"):
            quantity(written)

    @given(st.integers(0, 10**15), st.integers(0, 999), st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"]))
    def test_is_exact_and_grows_with_its_number(self, number, thousandths, suffix):
        one = quantity(f"1{suffix}")

        found = quantity(f"{number}.{thousandths:03}{suffix}")

        assert found == (Fraction(number) + Fraction(thousandths, 1000)) * one
        assert quantity(f"{number}{suffix}") <= found < quantity(f"{number + 1}{suffix}")


class TestSize:
    def test_is_what_pods_may_have(self):
        found = facts(allocatable={"cpu": "63770m", "memory": "527951688Ki"})

        assert (found.cpu_millis, found.memory_bytes) == (63770, 527951688 * 1024)
        assert whole([found]) == {"vcpus": 63, "memory_gib": 503}


class TestAccelerators:
    """Each case: resources, labels → what it is offered as, how many, MiB of memory."""

    GFD = "nvidia.com/gpu.product"
    CASES = [
        pytest.param(
            {"nvidia.com/gpu": "8"},
            {GFD: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.sharing-strategy": "none"},
            [("H100", 8, 81559)],
            id="whole",
        ),
        pytest.param(
            {"nvidia.com/gpu": "56"},
            {GFD: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu.memory": "4864"},
            [("A100-40GB-mig-1g.5gb", 56, 4864)],
            id="mig-single",
        ),
        pytest.param(
            {"nvidia.com/gpu": "4", "nvidia.com/mig-3g.20gb": "2", "nvidia.com/mig-1g.5gb.shared": "8"},
            {
                GFD: "NVIDIA-A100-SXM4-40GB",
                "nvidia.com/gpu.memory": "40960",
                "nvidia.com/mig-3g.20gb.memory": "19968",
            },
            [
                ("A100-40GB", 4, 40960),
                ("A100-40GB-mig-1g.5gb-shared", 8, None),
                ("A100-40GB-mig-3g.20gb", 2, 19968),
            ],
            id="mig-mixed",
        ),
        pytest.param(
            {"nvidia.com/gpu": "16"},
            {
                GFD: "Tesla-T4-SHARED",
                "nvidia.com/gpu.replicas": "4",
                "nvidia.com/gpu.sharing-strategy": "time-slicing",
            },
            [("T4-time-slicing", 16, None)],
            id="time-sliced",
        ),
        pytest.param({"nvidia.com/gpu": "16"}, {GFD: "Tesla-T4-SHARED"}, [("T4-shared", 16, None)], id="old-plugin"),
        pytest.param(
            {"nvidia.com/gpu.shared": "8", "nvidia.com/gpu": "0"},
            {GFD: "Tesla-T4", "nvidia.com/gpu.sharing-strategy": "mps"},
            [("T4-mps", 8, None)],
            id="renamed",
        ),
        pytest.param({"nvidia.com/gpu": "2"}, {}, [("NVIDIA-GPU", 2, None)], id="no-feature-discovery"),
        pytest.param(
            {"nvidia.com/gpu": "7"},
            {
                "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
                "cloud.google.com/gke-gpu-partition-size": "1g.5gb",
            },
            [("nvidia-tesla-a100-mig-1g.5gb", 7, None)],
            id="gke-mig",
        ),
        pytest.param(
            {"amd.com/gpu": "8"},
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"},
            [("MI300X", 8, 192 * 1024)],
            id="amd",
        ),
        pytest.param(
            {"amd.com/cpx_nps4": "64"},
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
            [("MI300X-cpx_nps4", 64, None)],
            id="amd-mixed-naming",
        ),
        pytest.param(
            {"amd.com/gpu": "64"},
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/compute-memory-partition": "cpx_nps4"},
            [("MI300X-cpx_nps4", 64, None)],
            id="amd-single-naming",
        ),
        pytest.param(
            {"google.com/tpu": "4"},
            {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"},
            [("tpu-v6e-slice", 4, None)],
            id="tpu",
        ),
        pytest.param(
            {"aws.amazon.com/neuron": "16", "aws.amazon.com/neuroncore": "32", "aws.amazon.com/neurondevice": "16"},
            {"node.kubernetes.io/instance-type": "trn1.32xlarge"},
            [("Trainium", 16, None)],
            id="neuron-counted-once",
        ),
        pytest.param(
            {"aws.amazon.com/neuroncore": "2"},
            {"node.kubernetes.io/instance-type": "inf2.xlarge"},
            [("Inferentia2-core", 2, None)],
            id="neuron-cores",
        ),
        pytest.param({"nvidia.com/gpu": "0"}, {GFD: "Tesla-T4"}, [], id="none-left"),
    ]

    @pytest.mark.parametrize(("capacity", "labels", "expected"), CASES)
    def test_are_read_by_resource_and_label(self, capacity, labels, expected):
        found = facts(capacity, labels=labels)

        assert [(one.offered_as, one.count, one.memory_mib) for one in found.accelerators] == expected

    def test_what_nobody_knows_is_shown(self):
        found = facts(
            {"example.com/npu": "4", "vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "0"},
            allocatable={"example.com/npu": "3"},
        )

        assert [(one.resource, one.count, one.healthy) for one in found.others] == [
            ("example.com/npu", 4, 3),
            ("vpc.amazonaws.com/efa", 32, 32),
        ]
        assert found.standing is Standing.IN_SERVICE
        assert found.accelerators == ()


class TestTopology:
    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            ({}, {"host": "n1"}),
            (
                {
                    "topology.kubernetes.io/region": "local",
                    "topology.kubernetes.io/zone": "zone-a",
                    "cloud.provider.com/topology-block": "block-0",
                    "cloud.provider.com/topology-rack": "rack-1",
                    "kubernetes.io/hostname": "gpu-000",
                    "nvidia.com/gpu.clique": "7b968a6d.1",
                },
                {
                    "region": "local",
                    "zone": "zone-a",
                    "block": "block-0",
                    "rack": "rack-1",
                    "host": "gpu-000",
                    "nvlink": "7b968a6d.1",
                },
            ),
            (
                {
                    "cloud.google.com/gce-topology-block": "b",
                    "cloud.google.com/gce-topology-subblock": "s",
                    "cloud.google.com/gce-topology-host": "h",
                    "kubernetes.io/hostname": "gke-1",
                },
                {"block": "b", "rack": "s", "host": "h"},
            ),
            (
                {"topology.k8s.aws/network-node-layer-2": "nn-2", "topology.k8s.aws/network-node-layer-3": "nn-3"},
                {"block": "nn-2", "rack": "nn-3", "host": "n1"},
            ),
        ],
    )
    def test_is_as_deep_as_the_labels_say(self, labels, expected):
        assert dict(facts(labels=labels).topology) == expected

    def test_the_interconnect_is_told_by_its_labels(self):
        labels = {"feature.node.kubernetes.io/rdma.available": "true", "cloud.google.com/gke-tpu-topology": "2x4"}

        assert dict(facts(labels=labels).interconnect) == labels


class TestStanding:
    XID = {"type": "XIDErrors", "status": "True", "reason": "XIDErrors", "message": "Xid 79 on GPU 3"}
    EKS = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}

    @pytest.mark.parametrize(
        ("more", "standing", "usable", "why"),
        [
            ({}, Standing.IN_SERVICE, 8, ""),
            ({"unschedulable": True}, Standing.CORDONED, 0, "It is cordoned."),
            (
                {
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no CNI."}
                    ]
                },
                Standing.NOT_READY,
                0,
                "It is not ready (KubeletNotReady: no CNI).",
            ),
            ({"conditions": [{"type": "Ready", "status": "Unknown"}]}, Standing.NOT_READY, 0, "It is not ready."),
            ({"conditions": [XID]}, Standing.UNHEALTHY, 0, "XIDErrors is True (XIDErrors: Xid 79 on GPU 3)."),
            ({"conditions": [XID | {"status": "False"}]}, Standing.IN_SERVICE, 8, ""),
            ({"conditions": [EKS]}, Standing.UNHEALTHY, 0, "AcceleratedHardwareReady is False (NvidiaXID79Error)."),
            ({"conditions": [EKS | {"status": "True"}]}, Standing.IN_SERVICE, 8, ""),
            ({"conditions": [EKS | {"status": "Unknown"}]}, Standing.IN_SERVICE, 8, ""),
            ({"conditions": [{"type": "MemoryPressure", "status": "True"}]}, Standing.IN_SERVICE, 8, ""),
            ({"allocatable": {"nvidia.com/gpu": "6"}}, Standing.DEGRADED, 6, "2 of 8 H100 are unhealthy."),
            (
                {"allocatable": {"nvidia.com/gpu": "6"}, "unschedulable": True},
                Standing.CORDONED,
                0,
                "It is cordoned. 2 of 8 H100 are unhealthy.",
            ),
        ],
    )
    def test_what_ails_it_is_no_capacity_and_says_why(self, more, standing, usable, why):
        found = h100(**more)

        assert (found.standing, found.reason) == (standing, why)
        assert in_service([found]).get("accelerators/H100", 0) == usable
        assert out_of_service([found]).get("accelerators/H100", 0) == 8 - usable

    def test_a_node_that_says_nothing_is_not_ready(self):
        assert facts_of({"metadata": {"name": "n1", "uid": "u"}}, {}).standing is Standing.NOT_READY


class TestTotals:
    def test_several_nodes_add_up_by_what_they_are_sold_as(self):
        nodes = [h100(name="a"), h100(name="b", unschedulable=True), facts({"nvidia.com/gpu": "2"}, name="c")]

        assert whole(nodes) == {
            "vcpus": 192,
            "memory_gib": 1536,
            "accelerators/H100": 16,
            "accelerators/NVIDIA-GPU": 2,
        }
        assert out_of_service(nodes) == {"vcpus": 64, "memory_gib": 512, "accelerators/H100": 8}
