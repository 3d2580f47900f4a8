"""Which image runs where: this machine knows it by a word, clusters by its name in a registry."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from core import scope
from core.errors import Invalid
from provisioning.errors import NotAdmitted
from provisioning.models import Cluster, Image, Region
from tests import house
from tests.provisioning import stage

DIGEST = "registry.example/team/jupyter@sha256:" + "a" * 64


def offer(slug: str, reference: str) -> str:
    said = StringIO()
    call_command("offer_image", slug, reference, "--label", "Ours", stdout=said)
    return said.getvalue()


@pytest.fixture
def beside(aurora) -> Cluster:
    """A Kubernetes cluster in the region of this machine."""
    stage.open_shop()
    with house.an_act(), scope.of_platform():
        capacity = {"accelerators": {"H100": 8}, "vcpus": 64, "memory_gib": 2048}
        return Cluster.objects.create(
            slug="beside",
            label="Beside",
            driver="kubernetes",
            region=Region.objects.get(slug="here"),
            capacity=capacity,
        )


class TestOffer:
    def test_an_image_is_offered_and_changed_under_its_slug(self, aurora):
        assert offer("ours", "registry.example/team/jupyter:1").startswith("ours is offered")
        offer("ours", DIGEST)

        with scope.of_platform():
            assert [*Image.objects.values_list("slug", "label", "oci_reference")] == [("ours", "Ours", DIGEST)]

    def test_this_machines_word_stays(self, beside):
        offer("jupyterlab", DIGEST)

        with scope.of_platform():
            row = Image.objects.get(slug="jupyterlab")
        assert (row.reference_on("local"), row.reference_on("kubernetes")) == ("jupyterlab", DIGEST)

    @pytest.mark.parametrize("wrong", ["jupyter", "https://r.example/x", "r.example/x y", "r.example/x@sha256:12", "-"])
    def test_what_no_registry_knows_is_refused(self, aurora, wrong):
        with pytest.raises(CommandError, match="registry/name"):
            offer("ours", wrong)

        with scope.of_platform():
            assert not Image.objects.exists()


class TestPlacing:
    def test_goes_to_the_cluster_that_runs_it(self, aurora, beside):
        offer("ours", DIGEST)

        theirs = stage.launch(aurora, "alice", shape="h100-1", image="ours")
        mine = stage.launch(aurora, "alice", shape="h100-1")

        with scope.of_platform():
            assert Cluster.objects.get(pk=theirs.cluster_id).slug == "beside"
            assert Cluster.objects.get(pk=mine.cluster_id).slug == "local"

    def test_where_no_cluster_runs_it_the_launch_says_so(self, aurora):
        stage.open_shop()
        offer("ours", DIGEST)

        with pytest.raises((NotAdmitted, Invalid)) as refused:
            stage.launch(aurora, "alice", shape="h100-1", image="ours")

        assert "No cluster in here runs this image" in str(refused.value)
