"""Which identity tokens are believed."""

from __future__ import annotations

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.utils import timezone

from tenants.drivers import oidc

pytestmark = pytest.mark.django_db


class TestIdentityTokens:
    """What a provider, or somebody who plays one, may not get away with."""

    @pytest.fixture
    def key(self):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @pytest.fixture
    def provider(self):
        return oidc.Provider("https://idp.example", "https://idp.example/a", "", "https://idp.example/k", "", False)

    def verified(self, provider, key, monkeypatch, *, alg="RS256", sign_with=None, **changes):
        now = int(timezone.now().timestamp())
        claims = {"iss": provider.issuer, "sub": "1", "aud": "us", "iat": now, "exp": now + 60, "nonce": "n"}
        public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        shown = jwt.PyJWK({**public, "alg": "RS256", "kid": "k"})
        monkeypatch.setattr(oidc, "_key", lambda *_: shown)
        token = jwt.encode(
            {**claims, **changes}, key if sign_with is None else sign_with, algorithm=alg, headers={"kid": "k"}
        )
        return oidc._verified(provider, oidc.Client("us", "", ""), token, "n")

    def test_a_proper_one_is_believed(self, provider, key, monkeypatch):
        assert self.verified(provider, key, monkeypatch)["sub"] == "1"

    @pytest.mark.parametrize(
        "changes",
        [
            {"iss": "https://other.example"},
            {"aud": "them"},
            {"aud": ["us", "them"]},
            {"exp": 1},
            {"iat": 4_000_000_000},
            {"nonce": "other"},
            {"sub": None},
        ],
    )
    def test_a_claim_that_is_not_ours_is_not(self, provider, key, monkeypatch, changes):
        with pytest.raises((oidc.NotTrusted, TypeError)):
            self.verified(provider, key, monkeypatch, **changes)

    def test_another_key_or_none_is_not(self, provider, key, monkeypatch):
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)

        for words in ({"sign_with": other}, {"alg": "none", "sign_with": ""}, {"alg": "HS256", "sign_with": "x" * 32}):
            with pytest.raises(oidc.NotTrusted):
                self.verified(provider, key, monkeypatch, **words)
