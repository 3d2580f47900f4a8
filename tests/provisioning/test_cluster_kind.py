"""Ray clusters as the platform launches them: how many of a shape, in which image, on which cluster."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from core import scope
from core.errors import Invalid
from provisioning.errors import NotAdmitted
from provisioning.models import Allocation, Cluster, Image, Region
from provisioning.selectors.specs import spec_of
from provisioning.types import ClusterSpec
from tenants.models import QuotaHold
from tests import house
from tests.provisioning import stage
from tests.provisioning.stage import fresh, launch, turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def beside(aurora) -> Cluster:
    """A cluster with KubeRay in the region of this machine, and an image with Ray."""
    stage.open_shop()
    call_command("offer_image", "ray", "registry.example/ray:2", "--label", "Ray", "--kind", "ray")
    with house.an_act(), scope.of_platform():
        return Cluster.objects.create(
            slug="beside",
            label="Beside",
            driver="kubernetes",
            region=Region.objects.get(slug="here"),
            capacity={"accelerators": {"H100": 8}, "vcpus": 640, "memory_gib": 2048},
            offers={"installed": ["kueue", "kuberay"]},
        )


def a_cluster(tenant, nodes=4, **changes):
    return launch(tenant, kind="cluster", image="ray", cluster=ClusterSpec(nodes), **changes)


def test_every_node_counts_and_it_goes_where_kuberay_is(aurora, beside, clock, machine):
    made = a_cluster(aurora)
    turn(aurora, made, machine, clock)

    row = fresh(aurora, made)
    assert (row.name, row.replicas, row.cluster.slug) == ("cluster", 4, "beside")
    with aurora.scope():
        holds = {hold.resource: hold.amount for hold in QuotaHold.objects.all()}
        assert Allocation.objects.get().resources["accelerators/H100"] == 4
        spec = spec_of(type(row).objects.select_related("image", "volume", "cluster", "shape__accelerator").get())
    assert (holds["accelerators"], holds["workloads"]) == (4, 1)
    assert (spec.framework, spec.workers, spec.command) == ("ray", 4, ())


def test_a_dask_cluster_goes_where_its_operator_is(aurora, beside):
    call_command("offer_image", "dask", "registry.example/dask:2026", "--label", "Dask", "--kind", "dask")
    asked = {"kind": "cluster", "image": "dask", "cluster": ClusterSpec(2)}

    with pytest.raises(NotAdmitted) as refused:
        launch(aurora, **asked)
    assert "image_elsewhere" in [reason.code for reason in refused.value.reasons]
    with house.an_act(), scope.of_platform():
        Cluster.objects.filter(slug="beside").update(offers={"installed": ["dask_operator"]})

    made = fresh(aurora, launch(aurora, **asked))
    with aurora.scope():
        spec = spec_of(type(made).objects.select_related("image", "volume", "cluster", "shape__accelerator").get())
    assert (spec.framework, spec.workers) == ("dask", 2)


def test_where_no_cluster_has_kuberay_nothing_runs_it(aurora, beside):
    with house.an_act(), scope.of_platform():
        Cluster.objects.filter(slug="beside").update(offers={"installed": ["kueue"]})

    with pytest.raises(NotAdmitted) as refused:
        a_cluster(aurora)

    assert "image_elsewhere" in [reason.code for reason in refused.value.reasons]


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"kind": "cluster", "image": "jupyterlab", "cluster": ClusterSpec(2)}, "image", "wrong_kind"),
        ({"kind": "workspace", "image": "ray"}, "image", "wrong_kind"),
        ({"kind": "cluster", "image": "ray"}, "cluster", "missing"),
        ({"kind": "workspace", "cluster": ClusterSpec(2)}, "cluster", "not_a_cluster"),
        ({"kind": "cluster", "image": "ray", "cluster": ClusterSpec(65)}, "cluster.nodes", "out_of_range"),
    ],
)
def test_what_cannot_be_meant_names_its_field(aurora, beside, changes, field, code):
    with pytest.raises(Invalid) as refused:
        launch(aurora, **changes)

    assert [(each.field, each.code) for each in refused.value.errors] == [(field, code)]


def test_an_image_of_ray_says_so(aurora, beside):
    with scope.of_platform():
        assert Image.objects.get(slug="ray").kind == "ray"
