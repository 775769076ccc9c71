"""Tests of the messages that the service sends to webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import unittest

import petcat

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"id":7,"type":"quota.warning","timestamp":"2027-03-04T12:00:00Z","data":{"percent":80}}'


def message(age: float = 0, body: str = BODY) -> dict[str, str]:
    """Returns the headers of a message that was sent some seconds ago."""
    timestamp = str(int(time.time() - age))
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = hmac.new(key, f"evt_1.{timestamp}.{body}".encode(), hashlib.sha256).digest()
    return {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": timestamp,
        "Webhook-Signature": "v1,AAAA v1," + base64.b64encode(signed).decode(),
    }


class Webhooks(unittest.TestCase):
    def test_valid(self) -> None:
        for body in (BODY, BODY.encode()):
            event = petcat.verify_webhook(SECRET, message(), body)
            self.assertEqual(event, petcat.Event(7, "quota.warning", "2027-03-04T12:00:00Z", {"percent": 80}))
        umlaut = '{"id":8,"type":"plan.requested","timestamp":"","data":{"note":"ü"}}'
        self.assertEqual(petcat.verify_webhook(SECRET, message(body=umlaut), umlaut).data, {"note": "ü"})

    def test_invalid(self) -> None:
        for change in (
            {"Webhook-Id": "evt_2"},
            {"Webhook-Id": ""},
            {"Webhook-Timestamp": str(int(time.time()) + 9)},
            {"Webhook-Timestamp": "now"},
            {"Webhook-Signature": ""},
            {"Webhook-Signature": "v1,"},
            {"Webhook-Signature": "v1,ü"},
            {"Webhook-Signature": message()["Webhook-Signature"].replace("v1,", "v2,")},
            message(age=400),
            message(age=-400),
        ):
            with self.subTest(change), self.assertRaises(petcat.InvalidWebhook):
                petcat.verify_webhook(SECRET, message() | change, BODY)
        with self.assertRaises(petcat.InvalidWebhook):
            petcat.verify_webhook(SECRET, message(), BODY + " ")
        for secret in ("", "whsec_", "whsec_*", "whsec_ü"):
            with self.subTest(secret), self.assertRaises(ValueError):
                petcat.verify_webhook(secret, message(), BODY)
