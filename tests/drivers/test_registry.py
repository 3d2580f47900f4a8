"""Which driver works where."""

from __future__ import annotations

from uuid import uuid4

import pytest

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.places import Connection, Place
from provisioning.drivers.registry import driver_at


class TestAKubernetesPlace:
    def test_it_is_made_once_and_anew_when_the_cluster_is_reached_otherwise(self) -> None:
        first = Place("kubernetes", uuid4(), Connection("https://one.invalid"))
        moved = Place("kubernetes", first.cluster_id, Connection("https://two.invalid"))

        driver = driver_at(first)

        assert isinstance(driver, KubernetesDriver)
        assert driver_at(first) is driver
        assert driver_at(moved) is not driver

    def test_a_cluster_without_access_is_unknown_and_not_gone(self) -> None:
        with pytest.raises(DriverUnavailable, match="how this cluster is reached"):
            driver_at(Place("kubernetes", uuid4()))
