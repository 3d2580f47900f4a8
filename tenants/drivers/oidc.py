"""An OpenID Connect provider, asked over the network: code flow with PKCE, state and nonce; every answer is checked.

The provider's addresses are the organisation's to name, so each call goes through the guard of `core.outgoing`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import jwt

from core.errors import SteelyardError
from core.outgoing import NotReached, check_url, fetch
from core.types import Json

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_SECONDS = 60
_SCOPES = "openid email profile"
_LIMIT_BYTES = 262_144


class NotTrusted(SteelyardError):
    """The provider's answer is not one that can be believed."""

    code = "provider_not_trusted"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider listens, by its own description."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    takes_secret_in_body: bool


@dataclass(frozen=True, slots=True)
class Client:
    """Who we are to a provider. `secret` empty: a public client, which PKCE alone protects."""

    id: str
    secret: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider vouches for. `groups` are the values of the claim that the organisation named."""

    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str
    groups: tuple[str, ...]


def discover(issuer: str) -> Provider:
    """Read the provider's description. Raises NotReached or NotTrusted."""
    found = _json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if _text(found, "issuer") != issuer:
        raise NotTrusted(f"The provider at {issuer} calls itself by another name.", code="issuer_mismatch")
    methods = found.get("token_endpoint_auth_methods_supported")
    provider = Provider(
        issuer=issuer,
        authorization_endpoint=_text(found, "authorization_endpoint"),
        token_endpoint=_text(found, "token_endpoint"),
        jwks_uri=_text(found, "jwks_uri"),
        userinfo_endpoint=_text(found, "userinfo_endpoint"),
        takes_secret_in_body=isinstance(methods, list) and "client_secret_basic" not in methods,
    )
    if not (provider.authorization_endpoint and provider.token_endpoint and provider.jwks_uri):
        raise NotTrusted("The provider does not say where it listens.", code="incomplete_description")
    check_url(provider.authorization_endpoint)
    return provider


def departure(provider: Provider, client: Client, *, state: str, nonce: str, verifier: str) -> str:
    """The address to which the browser goes."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = urlencode(
        {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": client.redirect_uri,
            "scope": _SCOPES,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
    )
    joint = "&" if "?" in provider.authorization_endpoint else "?"
    return f"{provider.authorization_endpoint}{joint}{query}"


def claims_for(provider: Provider, client: Client, *, code: str, verifier: str, nonce: str, group_claim: str) -> Claims:
    """Exchange the code and read who it stands for. Raises NotReached or NotTrusted."""
    answer = _exchange(provider, client, code, verifier)
    claims = _verified(provider, client, _text(answer, "id_token"), nonce)
    access = _text(answer, "access_token")
    if provider.userinfo_endpoint and access and not ("email" in claims and group_claim in claims):
        more = _json(provider.userinfo_endpoint, headers={"Authorization": f"Bearer {access}"})
        if _text(more, "sub") != _text(claims, "sub"):
            raise NotTrusted("The provider speaks of two people at once.", code="subject_mismatch")
        claims = {**more, **claims}
    return Claims(
        issuer=provider.issuer,
        subject=_text(claims, "sub"),
        email=_text(claims, "email").strip().lower(),
        email_verified=claims.get("email_verified") in (True, "true"),
        name=_text(claims, "name")[:120],
        groups=_groups(claims.get(group_claim)),
    )


def _exchange(provider: Provider, client: Client, code: str, verifier: str) -> Mapping[str, Json]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": client.redirect_uri,
        "code_verifier": verifier,
        "client_id": client.id,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if client.secret and provider.takes_secret_in_body:
        form["client_secret"] = client.secret
    elif client.secret:
        words = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(words.encode()).decode()}"
    return _json(provider.token_endpoint, method="POST", headers=headers, body=urlencode(form).encode())


def _verified(provider: Provider, client: Client, token: str, nonce: str) -> dict[str, Json]:
    """The claims of an identity token that this provider signed for us, just now, for this very sign-in."""
    try:
        header = jwt.get_unverified_header(token)
        algorithm = str(header.get("alg"))
        if algorithm not in _ALGORITHMS:
            raise NotTrusted(f"The provider signs with {algorithm}, which is not believed.", code="weak_signature")
        claims: dict[str, Json] = jwt.decode(
            token,
            key=_key(provider, str(header.get("kid") or "")),
            algorithms=[algorithm],
            audience=client.id,
            issuer=provider.issuer,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "aud", "iss", "sub"]},
        )
    except jwt.PyJWTError as error:
        raise NotTrusted(f"The provider's identity token is not valid: {error}.", code="invalid_identity") from None
    if claims.get("nonce") != nonce:
        raise NotTrusted("The provider answered another sign-in than this one.", code="nonce_mismatch")
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != client.id:
        raise NotTrusted("The provider's identity token is for somebody else.", code="audience_mismatch")
    return claims


def _key(provider: Provider, key_id: str) -> jwt.PyJWK:
    keys = jwt.PyJWKSet.from_dict(dict(_json(provider.jwks_uri))).keys
    named = [key for key in keys if key.key_id == key_id] if key_id else keys
    if len(named) != 1:
        raise NotTrusted("The provider does not show the key that it signed with.", code="unknown_key")
    return named[0]


def _json(
    url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> Mapping[str, Json]:
    answer = fetch(url, method=method, headers=headers, body=body, limit_bytes=_LIMIT_BYTES)
    if answer.status != 200:
        raise NotReached(f"The provider answered with status {answer.status}.", code="provider_refused")
    try:
        found = json.loads(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NotTrusted("The provider's answer is not what it should be.", code="malformed_answer")
    return found


def _text(found: Mapping[str, Json], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _groups(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
