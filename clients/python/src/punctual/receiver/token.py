"""Tokens that the service sends with jobs whose auth has oidc."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any, Callable, Dict, Mapping, Optional

from .signature import header_of

# In seconds: how long keys are kept, how long it takes at least until they are fetched again, and for how long that may
# take. LEEWAY is how far the clocks of the service and the receiver may differ.
KEYS_FOR = 300
KEYS_LEAST = 10
FETCH_LIMIT = 10
LEEWAY = 60
# In bytes.
MAX_TOKEN = 16 << 10
MAX_DOCUMENT = 64 << 10


class TokenError(Exception):
    """A token that is missing, not by the issuer, not for this audience, or no longer valid."""


def fetch_document(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=FETCH_LIMIT) as response:
        document = bytes(response.read(MAX_DOCUMENT + 1))
    if len(document) > MAX_DOCUMENT:
        raise ValueError(f"{url} has more than {MAX_DOCUMENT} bytes")
    return document


class TokenVerifier:
    """Verifies tokens: JWT with ES256, by the keys that the service publishes, which are kept for five minutes.

    It needs the packages pyjwt and cryptography: pip install "punctual-client[identity]".
    """

    def __init__(self, issuer: str, audience: str, *, fetch: Callable[[str], bytes] = fetch_document, now: Callable[[], float] = time.time) -> None:
        """issuer is the public URL of the service; audience is what the job says, or else the origin of its URL.

        fetch reads the published keys; now is the time at which their age is told.
        """
        try:
            import jwt
        except ImportError as error:
            raise ImportError('tokens need the package pyjwt: pip install "punctual-client[identity]"') from error
        if not issuer or not audience:
            raise ValueError("give the issuer and the audience")
        self._jwt = jwt
        self._issuer, self._audience = issuer, audience
        self._fetch, self._now = fetch, now
        self._keys: Optional[Dict[str, Any]] = None
        self._at = 0.0

    def verify_request(self, headers: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the claims of the token in the header Authorization, or raises as verify does.

        Check the claim sub: every account of the service can get tokens for any audience.
        """
        scheme, _, token = (header_of(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise TokenError("the token is missing")
        return self.verify(token)

    def verify(self, token: str) -> Dict[str, Any]:
        """Returns the claims of a token, or raises TokenError, or OSError or ValueError if the keys can't be fetched."""
        if len(token) > MAX_TOKEN:
            raise TokenError("this is no token")
        try:
            id = self._jwt.get_unverified_header(token).get("kid")
        except self._jwt.PyJWTError as error:
            raise TokenError("this is no token") from error
        key = self._key(id) if isinstance(id, str) else None
        if key is None:
            raise TokenError("the token is not signed by the service")
        try:
            return dict(self._jwt.decode(token, key, algorithms=["ES256"], audience=self._audience, issuer=self._issuer, leeway=LEEWAY, options={"require": ["exp", "iat", "sub"]}))
        except self._jwt.PyJWTError as error:
            raise TokenError(str(error)) from error

    def _key(self, id: str) -> Any:
        now, known = self._now(), self._keys
        age = now - self._at
        if known is not None and (age < KEYS_LEAST or (id in known and age < KEYS_FOR)):
            return known.get(id)
        self._at = now
        try:
            self._keys = known = self._read(self._fetch(f"{self._issuer}/.well-known/jwks.json"))
        except Exception:
            if known is None:
                raise
            # The service can't be reached just now.
        return known.get(id)

    def _read(self, document: bytes) -> Dict[str, Any]:
        keys = json.loads(document).get("keys") or []
        return {key["kid"]: self._jwt.PyJWK(key, "ES256").key for key in keys if key.get("kty") == "EC" and key.get("crv") == "P-256" and key.get("kid")}
