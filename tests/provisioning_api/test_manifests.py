"""A workload as manifests that run without the platform."""

from __future__ import annotations

import pytest
import yaml

from tests import house
from tests.provisioning_api.asking import address

ITEMS = ["Namespace", "ResourceQuota", "LimitRange", "ServiceAccount", "PersistentVolumeClaim", "StatefulSet"]


class TestExport:
    def test_is_a_list_that_kubectl_takes(self, aurora, running):
        answer = house.api_for(aurora, "alice").get(address(running, "manifests"))

        assert answer.status_code == 200, answer.content
        assert (answer.json()["apiVersion"], answer.json()["kind"]) == ("v1", "List")
        kinds = [item["kind"] for item in answer.json()["items"]]
        assert [kind for kind in kinds if kind in ITEMS] == ITEMS
        assert kinds.count("NetworkPolicy") >= 2

    def test_by_the_page_is_the_same_as_a_file(self, aurora, running):
        page = house.client_for(aurora, "alice").get(f"/workspaces/{running.pk}/manifests")

        assert page.headers["Content-Disposition"] == f'attachment; filename="{running.name}.yaml"'
        assert "put an image in its place" in page.content.decode()
        items = house.api_for(aurora, "alice").get(address(running, "manifests")).json()["items"]
        assert list(yaml.safe_load_all(page.content)) == items

    @pytest.mark.parametrize(("person", "sees"), [("alice", True), ("bob", False), ("victor", False)])
    def test_variables_are_their_owners_alone(self, aurora, running, person, sees):
        with house.an_act(), aurora.scope():
            type(running).objects.filter(pk=running.pk).update(env={"TOKEN": "hush-hush"})

        page = house.client_for(aurora, person).get(f"/workspaces/{running.pk}/manifests").content.decode()

        assert ("hush-hush" in page) is sees
        assert ("left out" in page) is not sees
        assert (
            "hush-hush" in house.api_for(aurora, person).get(address(running, "manifests")).content.decode()
        ) is sees
