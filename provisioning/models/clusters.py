"""How a cluster is reached. Apart from the cluster's own row, so that what lists clusters never reads a secret."""

from __future__ import annotations

import json

from django.db import models

from core.encryption import decrypted, encrypted
from core.models import UUIDModel
from provisioning.drivers.places import Connection, Place


class ClusterAccess(UUIDModel):
    """`secret`: token, client certificate and key as encrypted JSON. `storage_classes`: by disk tier."""

    cluster = models.OneToOneField("provisioning.Cluster", on_delete=models.CASCADE, related_name="access")
    server = models.CharField(max_length=300)
    ca_pem = models.TextField(default="", blank=True)
    server_name = models.CharField(max_length=253, default="", blank=True)
    secret = models.TextField()
    storage_classes = models.JSONField(default=dict)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.server

    @property
    def connection(self) -> Connection:
        """Raises core.encryption.Undecipherable where the key that encrypted it is gone."""
        return Connection(
            server=self.server,
            ca_pem=self.ca_pem,
            server_name=self.server_name,
            **json.loads(decrypted(self.secret)),
        )

    @connection.setter
    def connection(self, given: Connection) -> None:
        self.server, self.ca_pem, self.server_name = given.server, given.ca_pem, given.server_name
        self.secret = encrypted(json.dumps(given.secret))

    def place(self, driver: str) -> Place:
        classes = tuple(sorted(self.storage_classes.items()))
        return Place(driver, self.cluster_id, self.connection, classes)
