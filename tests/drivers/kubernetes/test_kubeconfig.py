"""A kubeconfig is read, or what is wrong with it is said."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest
import yaml

from provisioning.drivers.kubernetes.kubeconfig import MOST_BYTES, Unusable, connection_of, parse_kubeconfig

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n"


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CLUSTER = {"server": "https://10.0.0.1:6443", "certificate-authority-data": coded(CERTIFICATE)}
BY_TOKEN = {"token": "abc.def"}
BY_CERTIFICATE = {"client-certificate-data": coded(CERTIFICATE), "client-key-data": coded(KEY)}


def config(cluster: Mapping[str, object] | None = None, user: Mapping[str, object] | None = None) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [
                {"name": "here", "context": {"cluster": "one", "user": "me"}},
                {"name": "there", "context": {"cluster": "two", "user": "me"}},
                {"name": "broken", "context": {"cluster": "three", "user": "me"}},
            ],
            "clusters": [
                {"name": "one", "cluster": CLUSTER if cluster is None else dict(cluster)},
                {"name": "two", "cluster": {"server": "https://two.example/"}},
            ],
            "users": [{"name": "me", "user": BY_TOKEN if user is None else dict(user)}],
        }
    )


class TestRead:
    def test_the_current_context_with_a_token(self):
        found = parse_kubeconfig(config())

        assert (found.server, found.ca_pem, found.token) == ("https://10.0.0.1:6443", CERTIFICATE, "abc.def")
        assert (found.client_certificate_pem, found.client_key_pem) == ("", "")

    def test_a_client_certificate(self):
        found = parse_kubeconfig(config(user=BY_CERTIFICATE))

        assert (found.client_certificate_pem, found.client_key_pem, found.token) == (CERTIFICATE, KEY, "")

    def test_another_context_by_name(self):
        assert parse_kubeconfig(config(), context="there").server == "https://two.example"

    def test_the_name_that_the_certificate_is_checked_against(self):
        assert parse_kubeconfig(config(CLUSTER | {"tls-server-name": "kube"})).server_name == "kube"

    def test_a_token_before_a_certificate_as_kubectl_does(self):
        assert parse_kubeconfig(config(user=BY_CERTIFICATE | BY_TOKEN)).token == "abc.def"

    def test_neither_token_nor_key_is_shown(self):
        assert "abc.def" not in repr(parse_kubeconfig(config()))
        assert "PRIVATE" not in repr(parse_kubeconfig(config(user=BY_CERTIFICATE)))


UNUSABLE = {
    "empty": ("", "no kubeconfig"),
    "garbage": ("\x00\x01{", "no YAML"),
    "a list": ("- 1", "no kubeconfig"),
    "a text": ("hello", "no kubeconfig"),
    "deeply nested": ("[" * 5000, "no YAML"),
    "aliases": ("a: &a [1]\nb: *a\nkind: Config", "aliases"),
    "huge": ("a" * (MOST_BYTES + 1), "larger than 256 KiB"),
    "another kind": ("kind: Pod", "no kubeconfig"),
    "no contexts": ("kind: Config", "no context ''; choose one of these: none"),
    "two contexts and no choice": (
        "{kind: Config, contexts: [{name: a, context: {}}, {name: b, context: {}}]}",
        "choose one of these: a, b",
    ),
    "a command": (config(user={"exec": {"command": "aws"}}), "runs a command"),
    "an auth-provider": (config(user={"auth-provider": {"name": "gcp"}}), "auth-provider"),
    "a password": (config(user={"username": "me", "password": "hush"}), "password"),
    "somebody else": (config(user=BY_TOKEN | {"as": "root"}), "somebody else"),
    "no credentials": (config(user={}), "Give a token or a client certificate"),
    "half a certificate": (config(user={"client-certificate-data": coded(CERTIFICATE)}), "belong together"),
    "a file for the key": (config(user={"client-certificate": "/x", "client-key": "/y"}), "names a file"),
    "a file for the token": (config(user={"tokenFile": "/var/token"}), "names a file"),
    "a file for the authority": (config(CLUSTER | {"certificate-authority": "/ca"}), "names a file"),
    "unchecked": (config(CLUSTER | {"insecure-skip-tls-verify": True}), "does not check"),
    "a proxy": (config(CLUSTER | {"proxy-url": "http://p"}), "proxy"),
    "plain http": (config({"server": "http://10.0.0.1"}), "https://"),
    "a user in the address": (config({"server": "https://me:pw@10.0.0.1"}), "https://"),
    "a bracket left open": (config({"server": "https://[bad"}), "https://"),
    "a port that is none": (config({"server": "https://k.example:99999"}), "https://"),
    "a space in the address": (config({"server": "https://a b"}), "https://"),
    "a line end in the address": (config({"server": "https://a\nb"}), "https://"),
    "no server": (config({"certificate-authority-data": coded(CERTIFICATE)}), "https://"),
    "not base64": (config(CLUSTER | {"certificate-authority-data": "%%%"}), "base64"),
    "no PEM": (config(CLUSTER | {"certificate-authority-data": coded("hello")}), "no PEM text"),
    "a broken token": (config(user={"token": "a b"}), "copy it once more"),
}


@pytest.mark.parametrize(("text", "sentence"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_cannot_be_used_says_why(text, sentence):
    with pytest.raises(Unusable, match=sentence.replace("(", r"\(")):
        parse_kubeconfig(text)


def test_a_context_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(Unusable, match="choose one of these: broken, here, there"):
        parse_kubeconfig(config(), context="elsewhere")


def test_a_context_that_leads_nowhere_is_told():
    with pytest.raises(Unusable, match="names the cluster 'three'"):
        parse_kubeconfig(config(), context="broken")


def test_single_fields_are_looked_at_likewise():
    assert connection_of(server=" https://k.example/ ", token="t").server == "https://k.example"
    with pytest.raises(Unusable, match="one of the two"):
        connection_of(server="https://k.example", token="t", client_certificate_pem=CERTIFICATE, client_key_pem=KEY)
