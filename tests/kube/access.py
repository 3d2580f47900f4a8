"""How the platform gets into a cluster: with the account that the shipped manifest makes, and no more rights."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final

import yaml

from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.kubeconfig import parse_kubeconfig
from provisioning.drivers.kubernetes.reading import Json, text
from provisioning.drivers.places import Connection
from tests.kube.conftest import Kinds
from tests.kube.rig import PATIENCE_S
from tests.kube.waiting import until

ACCESS: Final = Path(__file__).parent.parent.parent / "docs" / "kubernetes" / "steelyard-access.yaml"


def shipped_account(cluster: Path, kinds: Kinds) -> Connection:
    """Apply the manifest as an administrator would, and connect with the token."""
    for thing in yaml.safe_load_all(ACCESS.read_text()):
        kinds(thing["apiVersion"], thing["kind"]).server_side_apply(body=thing, field_manager="administrator")
    secrets = kinds("v1", "Secret")

    def token() -> str:
        found: Json = secrets.get(name=rights.ACCOUNT, namespace=rights.NAMESPACE).to_dict()
        return text(found, "data", "token")

    until(token)
    admin = parse_kubeconfig(cluster.read_text())
    secret = base64.b64decode(token()).decode()
    return Connection(server=admin.server, ca_pem=admin.ca_pem, token=secret, answer_s=PATIENCE_S)


def kubeconfig_of(connection: Connection) -> str:
    authority = base64.b64encode(connection.ca_pem.encode()).decode()
    cluster = {"server": connection.server, "certificate-authority-data": authority}
    return json.dumps(
        {
            "kind": "Config",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": {"token": connection.token}}],
        }
    )
