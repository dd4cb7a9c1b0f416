from __future__ import annotations

import base64
import unittest
from datetime import datetime, timezone
from typing import Any, Dict

from punctual.receiver import SignatureError, Verified, Verifier, sign, verify

# The example of the Standard Webhooks specification's own libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"test": 2432232314}'
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
AT = 1614265330


def now() -> float:
    return AT


class TestVerify(unittest.TestCase):
    def refused(self, reason: str, changed: Dict[str, Any], body: str = BODY, secrets: Any = SECRET, at: float = AT) -> None:
        with self.assertRaises(SignatureError) as caught:
            verify(secrets, {**HEADERS, **changed}, body, now=lambda: at)
        self.assertEqual(caught.exception.reason, reason)

    def test_accepts_the_specifications_example(self) -> None:
        want = Verified("msg_p5jXN8AQM9LWM0D4loKWxJek", datetime.fromtimestamp(AT, timezone.utc))
        self.assertEqual(verify(SECRET, HEADERS, BODY, now=now), want)
        self.assertEqual(verify(SECRET, {name.title(): value for name, value in HEADERS.items()}, BODY.encode(), now=now), want)
        self.assertEqual(sign(SECRET, want.id, BODY, timestamp=want.timestamp), HEADERS)

    def test_accepts_one_of_several_secrets_and_signatures(self) -> None:
        other = "whsec_" + base64.b64encode(b"\7" * 32).decode()
        verify([other, SECRET], HEADERS, BODY, now=now)
        several = f"v1,{base64.b64encode(bytes(32)).decode()} v1a,xyz {HEADERS['webhook-signature']}"
        verify(SECRET, {**HEADERS, "webhook-signature": several}, BODY, now=now)
        self.refused("mismatch", {}, secrets=other)

    def test_accepts_the_signature_by_a_private_key_for_its_public_key_only(self) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError:
            self.assertRaises(ImportError, Verifier, "whpk_" + base64.b64encode(bytes(32)).decode())
            return
        private = Ed25519PrivateKey.from_private_bytes(b"\1" * 32)
        public = "whpk_" + base64.b64encode(private.public_key().public_bytes_raw()).decode()
        content = f"{HEADERS['webhook-id']}.{HEADERS['webhook-timestamp']}.{BODY}".encode()
        own = f"v1a,{base64.b64encode(private.sign(content)).decode()}"
        both = {"webhook-signature": f"{HEADERS['webhook-signature']} {own}"}
        verify(public, {**HEADERS, **both}, BODY, now=now)
        verify([SECRET, public], {**HEADERS, "webhook-signature": own}, BODY, now=now)
        self.refused("mismatch", both, BODY + " ", secrets=public)
        self.refused("mismatch", {}, secrets=public)  # a v1 that is right is not by the key
        other = Ed25519PrivateKey.from_private_bytes(b"\2" * 32).public_key().public_bytes_raw()
        self.refused("mismatch", both, secrets="whpk_" + base64.b64encode(other).decode())
        self.assertRaises(ValueError, Verifier, "whpk_AAAA")

    def test_refuses_what_was_changed(self) -> None:
        self.refused("mismatch", {}, BODY + " ")
        self.refused("mismatch", {"webhook-id": "msg_other"})
        self.refused("mismatch", {"webhook-timestamp": "1614265331"})
        good = base64.b64decode(HEADERS["webhook-signature"][3:])
        for bit in range(256):
            bad = bytearray(good)
            bad[bit >> 3] ^= 1 << (bit & 7)
            self.refused("mismatch", {"webhook-signature": f"v1,{base64.b64encode(bytes(bad)).decode()}"})

    def test_refuses_what_is_old_or_ahead(self) -> None:
        self.refused("stale", {}, at=AT + 301)
        self.refused("stale", {}, at=AT - 301)
        verify(SECRET, HEADERS, BODY, now=lambda: AT + 299)
        verify(SECRET, HEADERS, BODY, tolerance=3000, now=lambda: AT + 2999)

    def test_refuses_headers_that_are_missing_or_malformed(self) -> None:
        for name in HEADERS:
            for missing in (None, "", ["a"]):
                self.refused("missing", {name: missing})
            self.refused("missing", {name.title(): "twice"})
        for id in ("a.b", "x" * 256, "a b", "é"):
            self.refused("malformed", {"webhook-id": id})
        for timestamp in ("1e9", "-1", "0x10", "16142653301614265330", "1614265330.0", " 1614265330", "1614265330\n", "١"):
            self.refused("malformed", {"webhook-timestamp": timestamp})
        for signature in ("v1", "v1,", "v1,abc", "v2," + HEADERS["webhook-signature"][3:], "v1,%%%%", "v1,é", " ".join([HEADERS["webhook-signature"]] * 21)):
            self.refused("malformed", {"webhook-signature": signature})

    def test_needs_secrets_of_the_right_form(self) -> None:
        for wrong in ("", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%", [], [SECRET] * 21):
            with self.assertRaises(ValueError):
                Verifier(wrong)
