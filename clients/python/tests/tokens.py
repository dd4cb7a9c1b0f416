"""Tokens, with the libraries that verify them."""

from __future__ import annotations

import base64
import json
import time
import unittest
from typing import Any, Dict, List, Optional

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from punctual.receiver import JobDelivery, Receiver, TokenError, TokenVerifier, sign

ISSUER, AUDIENCE = "https://punctual.example.com", "https://api.example.com"
SECRET = "whsec_" + base64.b64encode(b"\1" * 32).decode()


class Key:
    def __init__(self, id: str) -> None:
        self.id, self.private = id, ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        x, y = (base64.urlsafe_b64encode(n.to_bytes(32, "big")).decode().rstrip("=") for n in (numbers.x, numbers.y))
        self.published = {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": id, "x": x, "y": y}

    def token(self, headers: Optional[Dict[str, Any]] = None, **claims: Any) -> str:
        now = int(time.time())
        body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "account:x", "jti": "job_1", "job_id": 17, "iat": now, "exp": now + 300, **{name: now + value if name in ("exp", "iat") else value for name, value in claims.items()}}
        return str(jwt.encode(body, self.private, algorithm="ES256", headers={"kid": self.id, **(headers or {})}))


class Service:
    """What publishes keys."""

    def __init__(self, *keys: Key) -> None:
        self.keys, self.now, self.fetches, self.away = list(keys), 1000.0, 0, False

    def fetch(self, url: str) -> bytes:
        assert url == f"{ISSUER}/.well-known/jwks.json"
        self.fetches += 1
        if self.away:
            raise OSError("away")
        return json.dumps({"keys": [key.published for key in self.keys]}).encode()

    def verifier(self) -> TokenVerifier:
        return TokenVerifier(ISSUER, AUDIENCE, fetch=self.fetch, now=lambda: self.now)


class TestTokenVerifier(unittest.TestCase):
    def test_accepts_what_the_service_signs_and_nothing_else(self) -> None:
        one, other = Key("one"), Key("one")
        service = Service(one)
        verifier = service.verifier()
        claims = verifier.verify_request({"Authorization": f"Bearer {one.token()}"})
        self.assertEqual((claims["sub"], claims["job_id"]), ("account:x", 17))
        good = one.token()
        head, body, _ = good.split(".")
        unsigned = base64.urlsafe_b64encode(b'{"alg":"none","kid":"one"}').decode().rstrip("=")
        symmetric = jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "sub": "account:x"}, "k" * 32, algorithm="HS256", headers={"kid": "one"})
        for bad in (
            other.token(), one.token(aud="https://other.example"), one.token(iss="https://other.example"), one.token(exp=-61), one.token(iat=90), Key("two").token(),
            f"{unsigned}.{body}.", symmetric, good + "x", good[:-4], f"{head}.{body}", "a.b.c", "", "..", "x" * 20000,
        ):
            with self.assertRaises(TokenError, msg=bad):
                verifier.verify(bad)
        for headers in ({}, {"authorization": good}, {"authorization": "Bearer "}):
            with self.assertRaises(TokenError):
                verifier.verify_request(headers)
        self.assertEqual(service.fetches, 1)

    def test_fetches_keys_again_and_keeps_those_it_has_while_it_cant(self) -> None:
        one, two = Key("one"), Key("two")
        service = Service(one)
        verifier = service.verifier()
        service.away = True
        with self.assertRaises(OSError):
            verifier.verify(one.token())
        service.away = False
        verifier.verify(one.token())
        service.keys.append(two)
        with self.assertRaises(TokenError):
            verifier.verify(two.token())  # not more often than every ten seconds
        service.now += 11
        verifier.verify(two.token())
        service.now += 301
        service.away = True
        verifier.verify(two.token())
        self.assertEqual(service.fetches, 4)

    def test_receiver_admits_the_requests_of_jobs_with_their_own_token(self) -> None:
        one = Key("one")
        service = Service(one)
        seen: List[Optional[Dict[str, Any]]] = []

        def handler(job: JobDelivery) -> None:
            seen.append(job.claims)

        receiver = Receiver(SECRET, tokens=service.verifier(), on_error=lambda *_: None)

        def send(id: str, token: str = "") -> int:
            headers = {**sign(SECRET, id, b"{}"), **({"Authorization": f"Bearer {token}"} if token else {})}
            return receiver.job(handler).receive("POST", "/hook", headers, b"{}").status

        service.away = True
        self.assertEqual(send("job_1", one.token()), 503)
        service.away = False
        self.assertEqual(send("job_1", one.token()), 204)
        # The token of another request, none, and one for somebody else.
        self.assertEqual([send("job_2", one.token()), send("job_3"), send("job_4", one.token(jti="job_4", aud="https://other.example"))], [401, 401, 401])
        self.assertEqual([claims and claims["sub"] for claims in seen], ["account:x"])
