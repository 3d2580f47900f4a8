"""Where a lab keeps what it makes, and the ports that it uses."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("KUBE_LAB_CACHE", "~/.cache/kube-lab")).expanduser().resolve()
STATE = Path(os.environ.get("KUBE_LAB_DIR", CACHE / "default")).expanduser().resolve()
PKI, RUN, ADMIN = STATE / "pki", STATE / "run", STATE / "admin.kubeconfig"
PORT = int(os.environ.get("KUBE_LAB_PORT", "16443"))
ETCD, ETCD_PEER, FAKE_KUBELET = PORT + 1, PORT + 2, PORT + 3
OPERATORS = PORT + 4  # the first of four for each
API = f"https://127.0.0.1:{PORT}"
