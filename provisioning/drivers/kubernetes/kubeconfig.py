"""A kubeconfig, as people have it, read into a Connection. Pure: it opens no file and runs no command.

The format: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import yaml

from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.places import Connection

MOST_BYTES: Final = 262_144

_PEM = re.compile(r"\A\s*-----BEGIN [A-Z ]+-----\n.+-----END [A-Z ]+-----\s*\Z", re.DOTALL)
_OTHER_WAYS: Final = {
    "exec": "runs a command (exec) to get its credentials",
    "auth-provider": "names an auth-provider",
    "username": "holds a password, which API servers no longer take",
    "password": "holds a password, which API servers no longer take",
    "as": "acts as somebody else (as)",
}
_FILES: Final = {
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
_TOKEN_ASKED = "Make a service account on the cluster and give its token."


class Unusable(ValueError):
    """What is wrong with it, as a sentence that says what to do."""


def parse_kubeconfig(text: str, *, context: str = "") -> Connection:
    """The connection of its current context, or of the one named. Raises Unusable."""
    whole = _document(text)
    contexts = _named(whole, "contexts", "context")
    chosen = context or str(whole.get("current-context") or "")
    if not chosen and len(contexts) == 1:
        chosen = next(iter(contexts))
    if chosen not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        raise Unusable(f"It has no context {chosen!r}; choose one of these: {known}.")
    cluster = _member(_named(whole, "clusters", "cluster"), "cluster", contexts[chosen].get("cluster"))
    user = _member(_named(whole, "users", "user"), "user", contexts[chosen].get("user"))
    return connection_of(
        server=str(cluster.get("server") or ""),
        ca_pem=_certificate_authority(cluster),
        server_name=str(cluster.get("tls-server-name") or ""),
        **_credentials(user),
    )


def connection_of(
    *,
    server: str,
    ca_pem: str = "",
    server_name: str = "",
    token: str = "",
    client_certificate_pem: str = "",
    client_key_pem: str = "",
) -> Connection:
    """A connection of single fields, looked at likewise. Raises Unusable."""
    if not _is_address(server.strip()):
        raise Unusable("The server is an https:// address without a user, such as https://10.0.0.1:6443.")
    for name, pem in (("certificate of the authority", ca_pem), ("client certificate", client_certificate_pem)):
        if pem and not _PEM.match(pem.replace("\r\n", "\n")):
            raise Unusable(f"The {name} is no PEM text: it begins with -----BEGIN CERTIFICATE-----.")
    if bool(client_certificate_pem) != bool(client_key_pem):
        raise Unusable("A client certificate and its key belong together; one of them is missing.")
    if bool(token) == bool(client_certificate_pem):
        raise Unusable(f"Give a token or a client certificate with its key, one of the two. {_TOKEN_ASKED}")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise Unusable("The token has signs in it that no token has; copy it once more.")
    return Connection(
        server=server.strip().rstrip("/"),
        ca_pem=ca_pem,
        token=token,
        client_certificate_pem=client_certificate_pem,
        client_key_pem=client_key_pem,
        server_name=server_name,
    )


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is none
        return False
    plain = server.isascii() and server.isprintable() and " " not in server
    return plain and known and parts.scheme == "https" and not (parts.username or parts.query or parts.fragment)


def _document(text: str) -> Mapping[str, object]:
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise Unusable(f"It is larger than {MOST_BYTES // 1024} KiB; export only the context that you need.")
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
            raise Unusable("It has YAML aliases in it, which no kubeconfig needs.")
        whole = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, Unusable):
            raise
        raise Unusable("It is no YAML. Paste what `kubectl config view --raw --minify` shows.") from None
    if not isinstance(whole, dict) or whole.get("kind") != "Config":
        raise Unusable("It is no kubeconfig: `kind: Config` is missing.")
    return whole


def _named(whole: Mapping[str, object], plural: str, singular: str) -> dict[str, Json]:
    entries = whole.get(plural)
    found: dict[str, Json] = {}
    for entry in entries if isinstance(entries, list) else []:
        inside = entry.get(singular) if isinstance(entry, dict) else None
        if isinstance(inside, dict):
            found[str(entry.get("name"))] = inside
    return found


def _member(among: Mapping[str, Json], kind: str, name: object) -> Json:
    if str(name) not in among:
        raise Unusable(f"Its context names the {kind} {str(name)!r}, which is not in it.")
    return among[str(name)]


def _certificate_authority(cluster: Json) -> str:
    if cluster.get("insecure-skip-tls-verify"):
        raise Unusable("It does not check the server's certificate. Give the certificate of the authority instead.")
    if cluster.get("proxy-url"):
        raise Unusable("It goes through a proxy (proxy-url), which is not supported.")
    if cluster.get("certificate-authority"):
        raise Unusable("It names a file (certificate-authority). Export it with `kubectl config view --raw --flatten`.")
    return _decoded(cluster, "certificate-authority-data")


def _credentials(user: Json) -> dict[str, str]:
    for name, what in _OTHER_WAYS.items():
        if user.get(name):
            raise Unusable(f"Its user {what}. {_TOKEN_ASKED}")
    for name, instead in _FILES.items():
        if user.get(name) and not user.get(instead):
            raise Unusable(f"It names a file ({name}). Export it with `kubectl config view --raw --flatten`.")
    token = str(user.get("token") or "")
    if token:  # kubectl, too, prefers it
        return {"token": token}
    return {
        "client_certificate_pem": _decoded(user, "client-certificate-data"),
        "client_key_pem": _decoded(user, "client-key-data"),
    }


def _decoded(among: Json, name: str) -> str:
    given = among.get(name)
    if not given:
        return ""
    try:
        return base64.b64decode(str(given), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Unusable(f"{name} is not what it should be: a PEM text in base64.") from None
