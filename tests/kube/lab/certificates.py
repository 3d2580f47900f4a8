"""Certificates and kubeconfigs of every component, signed by authorities of the lab's own."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess

from tests.kube.lab.places import ADMIN, API, PKI

USERS = ("admin", "fake-kubelet", "kuberay", "jobset", "kueue", "dask")


def openssl(command: str) -> None:
    subprocess.run(["openssl", *command.split()], cwd=PKI, check=True, stderr=subprocess.DEVNULL)


def certificate(name: str, subject: str, names: str = "", ca: str = "ca") -> None:
    """PKI/name.crt and .key, signed by the named authority, or by itself if it is one."""
    if (PKI / f"{name}.crt").exists():
        return
    (PKI / "openssl.cnf").write_text("[req]\ndistinguished_name = none\n[none]\n")
    if name == ca:
        extra = "-addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,digitalSignature"
    else:
        extra = f"-CA {ca}.crt -CAkey {ca}.key -addext extendedKeyUsage=serverAuth,clientAuth"
        extra += f" -addext subjectAltName={names}" if names else ""
    key = f"-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key"
    openssl(f"req -x509 -config openssl.cnf -days 3650 {key} -subj {subject} -out {name}.crt {extra}")


def encoded(file: str) -> str:
    return base64.b64encode((PKI / file).read_bytes()).decode()


def kubeconfig(user: str) -> str:
    credentials = {"client-certificate-data": encoded(f"{user}.crt"), "client-key-data": encoded(f"{user}.key")}
    cluster = {"server": API, "certificate-authority-data": encoded("ca.crt")}
    clusters, users = [{"name": "lab", "cluster": cluster}], [{"name": user, "user": credentials}]
    contexts = [{"name": "lab", "context": {"cluster": "lab", "user": user}}]
    lists = {"clusters": clusters, "users": users, "contexts": contexts}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "lab"} | lists)


def certificates() -> None:
    PKI.mkdir(parents=True, exist_ok=True)
    certificate("ca", "/CN=kube-lab")
    certificate("front-ca", "/CN=kube-lab-front-proxy", ca="front-ca")
    certificate("front", "/CN=front-proxy-client", ca="front-ca")
    own = "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"
    certificate("kube-apiserver", "/CN=kube-apiserver", own)
    certificate("jobset-webhook", "/CN=jobset-webhook", "DNS:jobset-webhook-service.jobset-system.svc")
    for component in ("kube-controller-manager", "kube-scheduler", "kube-proxy"):
        certificate(component, f"/CN=system:{component}")
    certificate("kubelet", "/O=system:nodes/CN=system:node:127.0.0.1", "IP:127.0.0.1")
    for user in USERS:
        certificate(user, f"/O=system:masters/CN={user}", "IP:127.0.0.1")
    for path in PKI.glob("*.crt"):
        path.with_suffix(".kubeconfig").write_text(kubeconfig(path.stem))
    shutil.copy(PKI / "admin.kubeconfig", ADMIN)
    if not (PKI / "sa.key").exists():
        openssl("genrsa -out sa.key 2048")
