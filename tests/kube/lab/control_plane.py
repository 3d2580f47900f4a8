"""etcd, API server, controllers, scheduler, and the fake nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kube.lab.binaries import binaries, build
from tests.kube.lab.certificates import certificates
from tests.kube.lab.places import ADMIN, API, ETCD, ETCD_PEER, FAKE_KUBELET, HERE, PKI, PORT, RUN, STATE
from tests.kube.lab.processes import answers, start, wait_for


def kubectl(command: str, *words: str, stdin: str | None = None) -> str:
    argv = [str(binaries("control-plane") / "kube"), "kubectl", f"--kubeconfig={ADMIN}", *command.split(), *words]
    return subprocess.run(argv, input=stdin, check=True, stdout=subprocess.PIPE, text=True).stdout


def start_etcd(kube: Path) -> str:
    here, peer = f"http://127.0.0.1:{ETCD}", f"http://127.0.0.1:{ETCD_PEER}"
    clients = {"listen_client_urls": here, "advertise_client_urls": here}
    peers = {"listen_peer_urls": peer, "initial_advertise_peer_urls": peer, "initial_cluster": f"default={peer}"}
    start("etcd", kube, "etcd", data_dir=STATE / "etcd", unsafe_no_fsync=True, log_level="warn", **clients, **peers)
    return here


def audit_policy() -> Path:
    """All changes, without their bodies."""
    rules = [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
    path = STATE / "audit-policy.json"
    path.write_text(json.dumps(policy))
    return path


def start_api_server(kube: Path, etcd: str) -> None:
    start(
        "kube-apiserver",
        kube,
        "kube-apiserver",
        etcd_servers=etcd,
        secure_port=PORT,
        bind_address="127.0.0.1",
        advertise_address="127.0.0.1",
        endpoint_reconciler_type="none",  # a loopback address cannot be an endpoint of the `kubernetes` service
        tls_cert_file=PKI / "kube-apiserver.crt",
        tls_private_key_file=PKI / "kube-apiserver.key",
        client_ca_file=PKI / "ca.crt",
        authorization_mode="Node,RBAC",
        allow_privileged=True,
        enable_admission_plugins="NodeRestriction",  # on top of the defaults
        service_cluster_ip_range="10.96.0.0/16",
        service_account_issuer="https://kubernetes.default.svc",
        service_account_key_file=PKI / "sa.key",
        service_account_signing_key_file=PKI / "sa.key",
        kubelet_client_certificate=PKI / "admin.crt",
        kubelet_client_key=PKI / "admin.key",
        kubelet_preferred_address_types="InternalIP",  # no DNS server is to be asked for a fake node's name
        proxy_client_cert_file=PKI / "front.crt",
        proxy_client_key_file=PKI / "front.key",
        requestheader_client_ca_file=PKI / "front-ca.crt",
        requestheader_allowed_names="front-proxy-client",
        requestheader_username_headers="X-Remote-User",
        requestheader_group_headers="X-Remote-Group",
        requestheader_extra_headers_prefix="X-Remote-Extra-",
        audit_policy_file=audit_policy(),
        audit_log_path=RUN / "audit.log",
        audit_log_maxsize=100,
        audit_log_maxbackup=1,
    )
    wait_for("the API server", lambda: answers(f"{API}/readyz"))


def start_controllers(kube: Path) -> None:
    start(
        "kube-controller-manager",
        kube,
        "kube-controller-manager",
        kubeconfig=PKI / "kube-controller-manager.kubeconfig",
        kube_api_qps=300,
        kube_api_burst=600,
        leader_elect=False,
        secure_port=0,
        use_service_account_credentials=True,
        service_account_private_key_file=PKI / "sa.key",
        root_ca_file=PKI / "ca.crt",
        cluster_signing_cert_file=PKI / "ca.crt",
        cluster_signing_key_file=PKI / "ca.key",
        flex_volume_plugin_dir=STATE / "no-plugins",  # or it makes a folder under /usr
    )


def start_scheduler(kube: Path) -> None:
    connection = {"kubeconfig": str(PKI / "kube-scheduler.kubeconfig"), "qps": 300, "burst": 600}
    settings = {"clientConnection": connection, "leaderElection": {"leaderElect": False}}
    settings |= {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    (STATE / "scheduler.json").write_text(json.dumps(settings))
    start("kube-scheduler", kube, "kube-scheduler", config=STATE / "scheduler.json", secure_port=0)


def start_control_plane() -> None:
    kube = build("control-plane") / "kube"
    RUN.mkdir(parents=True, exist_ok=True)
    certificates()
    start_api_server(kube, start_etcd(kube))
    start_controllers(kube)
    start_scheduler(kube)
    # Pods need it, and the controller manager makes it.
    wait_for("the service account", lambda: answers(f"{API}/api/v1/namespaces/default/serviceaccounts/default"))


def start_fake_nodes(pools: list[str]) -> None:
    """Nothing answers at the fake pods' addresses; with the route, connections to them stay on this machine."""
    if os.geteuid() == 0 and shutil.which("ip"):
        subprocess.run(["ip", "route", "replace", "local", "10.244.0.0/17", "dev", "lo"], check=True)
    start(
        "fake-kubelet",
        sys.executable,
        HERE / "fake_kubelet.py",
        *(f"--pool={pool}" for pool in pools),
        kubeconfig=PKI / "fake-kubelet.kubeconfig",
        port=FAKE_KUBELET,
        volumes=STATE / "volumes",
        cert=PKI / "fake-kubelet.crt",
        key=PKI / "fake-kubelet.key",
    )
    count = sum(int(pool.split(":")[1]) for pool in pools)
    taints = "jsonpath={range .items[*]}{.spec.taints[*].key};{end}"
    wait_for("the fake nodes", lambda: kubectl("get nodes -l type=fake -o", taints).split(";").count("") > count)
