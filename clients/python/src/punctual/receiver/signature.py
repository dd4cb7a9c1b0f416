"""Signatures as Standard Webhooks define them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

Reason = Literal["missing", "malformed", "stale", "mismatch"]

SECRET_PREFIX = "whsec_"
PUBLIC_PREFIX = "whpk_"
MAX_ID_LENGTH = 255
MAX_SIGNATURES = 20


class SignatureError(Exception):
    """A request that the service did not send, or not now."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Verified:
    """What a signature vouches for."""

    #: webhook-id: the same for every try of one message.
    id: str
    #: When this try was sent.
    timestamp: datetime


class Verifier:
    """Verifies signatures. Of several secrets one must have signed: during a rotation give the new and the old one.

    A public key (whpk_…, see GET /api/account) can stand in place of a secret (whsec_…): it verifies the signatures v1a,
    and can't make any. It needs the package cryptography: pip install "punctual-client[identity]".
    """

    def __init__(self, secrets: Union[str, Sequence[str]], *, tolerance: float = 300, now: Callable[[], float] = time.time) -> None:
        """tolerance is how many seconds old, or ahead, a request may be; now is for tests."""
        given = [secrets] if isinstance(secrets, str) else list(secrets)
        if not 1 <= len(given) <= MAX_SIGNATURES:
            raise ValueError(f"give 1 to {MAX_SIGNATURES} signing secrets or public keys")
        self._keys = [_decode_secret(one) for one in given if not one.startswith(PUBLIC_PREFIX)]
        self._public = [_public_verifier(one) for one in given if one.startswith(PUBLIC_PREFIX)]
        self._tolerance = tolerance
        self._now = now

    def check(self, headers: Mapping[str, Any]) -> Verified:
        """Checks everything but the signature itself, before the body is read."""
        return self._read(headers)[0]

    def verify(self, headers: Mapping[str, Any], body: Union[bytes, str]) -> Verified:
        """Returns what the signature vouches for, or raises SignatureError."""
        verified, signatures = self._read(headers)
        content = _signed_content(verified.id, int(verified.timestamp.timestamp()), body)
        matches = False
        for key in self._keys:
            expected = hmac.new(key, content, hashlib.sha256).digest()
            for version, signature in signatures:
                matches = (version == "v1" and hmac.compare_digest(expected, signature)) or matches
        for verifies in self._public:
            matches = matches or any(version == "v1a" and verifies(signature, content) for version, signature in signatures)
        if not matches:
            raise SignatureError("mismatch", "the signature does not match: the body was changed, or the secret is another account's")
        return verified

    def _read(self, headers: Mapping[str, Any]) -> Tuple[Verified, List[Tuple[str, bytes]]]:
        id, seconds, text = (header_of(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
        if not id or not seconds or not text:
            raise SignatureError("missing", "webhook-id, webhook-timestamp or webhook-signature is missing: the service did not send this")
        if len(id) > MAX_ID_LENGTH or not re.fullmatch(r"[\x21-\x2d\x2f-\x7e]+", id):
            raise _malformed("webhook-id")
        if not re.fullmatch(r"[0-9]{1,11}", seconds):
            raise _malformed("webhook-timestamp")
        if abs(self._now() - int(seconds)) > self._tolerance:
            raise SignatureError("stale", f"webhook-timestamp is more than {self._tolerance:g} seconds from this machine's time")
        return Verified(id, datetime.fromtimestamp(int(seconds), timezone.utc)), _read_signatures(text)


def verify(secrets: Union[str, Sequence[str]], headers: Mapping[str, Any], body: Union[bytes, str], *, tolerance: float = 300, now: Callable[[], float] = time.time) -> Verified:
    """Verifies one request; a Verifier does the same for many."""
    return Verifier(secrets, tolerance=tolerance, now=now).verify(headers, body)


def sign(secret: str, id: str, body: Union[bytes, str], *, timestamp: Optional[datetime] = None) -> Dict[str, str]:
    """The headers of a signed request, for tests of a receiver."""
    seconds = int(time.time() if timestamp is None else timestamp.timestamp())
    digest = hmac.new(_decode_secret(secret), _signed_content(id, seconds, body), hashlib.sha256).digest()
    return {"webhook-id": id, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{base64.b64encode(digest).decode()}"}


def header_of(headers: Mapping[str, Any], name: str) -> Optional[str]:
    """A header's value, whatever the case of its name; None without one, or with several."""
    found = [value for key, value in headers.items() if isinstance(key, str) and key.lower() == name]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _malformed(what: str) -> SignatureError:
    return SignatureError("malformed", f"{what} is malformed")


def _signed_content(id: str, seconds: int, body: Union[bytes, str]) -> bytes:
    return f"{id}.{seconds}.".encode() + (body.encode() if isinstance(body, str) else bytes(body))


def _read_signatures(text: str) -> List[Tuple[str, bytes]]:
    """The signatures by secrets (v1) and by keys (v1a); others are for receivers that know them."""
    parts = text.split(" ", MAX_SIGNATURES)
    if len(parts) > MAX_SIGNATURES:
        raise _malformed("webhook-signature")
    signatures = []
    for part in parts:
        version, _, encoded = part.partition(",")
        if version not in ("v1", "v1a"):
            continue
        signature = _decode_base64(encoded)
        if signature is not None and len(signature) == (32 if version == "v1" else 64):
            signatures.append((version, signature))
        elif version == "v1":
            raise _malformed("webhook-signature")
    if not signatures:
        raise _malformed("webhook-signature")
    return signatures


def _public_verifier(text: str) -> Callable[[bytes, bytes], bool]:
    """What verifies Ed25519 signatures by a public key."""
    raw = _decode_base64(text[len(PUBLIC_PREFIX) :])
    if raw is None or len(raw) != 32:
        raise ValueError('a public key must be "whpk_" followed by the base64 of 32 bytes')
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise ImportError('public keys need the package cryptography: pip install "punctual-client[identity]"') from error
    key = Ed25519PublicKey.from_public_bytes(raw)

    def verifies(signature: bytes, content: bytes) -> bool:
        try:
            key.verify(signature, content)
        except InvalidSignature:
            return False
        return True

    return verifies


def _decode_secret(secret: str) -> bytes:
    key = _decode_base64(secret[len(SECRET_PREFIX) :]) if secret.startswith(SECRET_PREFIX) else None
    if not key:
        raise ValueError('a signing secret must be "whsec_" followed by base64')
    return key


def _decode_base64(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
