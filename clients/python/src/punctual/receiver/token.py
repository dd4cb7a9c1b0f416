"""Tokens that the service sends with jobs whose auth has oidc."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from .signature import header_of

KEYS_FOR = 300
LEEWAY = 60


class TokenError(Exception):
    """A token that is missing, not by the issuer, not for this audience, or no longer valid."""


class TokenVerifier:
    """Verifies tokens: JWT with ES256, by the keys that the service publishes, which are kept for five minutes.

    It needs the packages pyjwt and cryptography: pip install "punctual-client[identity]".
    """

    def __init__(self, issuer: str, audience: str) -> None:
        """issuer is the public URL of the service; audience is what the job says, or else the origin of its URL."""
        try:
            import jwt
        except ImportError as error:
            raise ImportError('tokens need the package pyjwt: pip install "punctual-client[identity]"') from error
        if not issuer or not audience:
            raise ValueError("give the issuer and the audience")
        self._jwt = jwt
        self._issuer, self._audience = issuer, audience
        self._keys = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json", lifespan=KEYS_FOR, timeout=10)

    def verify_request(self, headers: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the claims of the token in the header Authorization, or raises TokenError.

        Check the claim sub: every account of the service can get tokens for any audience.
        """
        scheme, _, token = (header_of(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise TokenError("the token is missing")
        return self.verify(token)

    def verify(self, token: str) -> Dict[str, Any]:
        """Returns the claims of a token, or raises TokenError, or jwt.PyJWKClientConnectionError without the keys."""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            return dict(self._jwt.decode(token, key.key, algorithms=["ES256"], audience=self._audience, issuer=self._issuer, leeway=LEEWAY, options={"require": ["exp", "iat", "sub"]}))
        except self._jwt.PyJWKClientConnectionError:
            raise
        except self._jwt.PyJWTError as error:
            raise TokenError(str(error)) from error
