"""The messages that the service sends to webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _time
from ._errors import PetcatError

#: How old a message may be, and how far from the future, in seconds.
_TOLERANCE = 300


class InvalidWebhook(PetcatError):
    """The service did not send this message, or not in the last 5 minutes."""


@dataclass(frozen=True)
class Event:
    """What happened. New types and members of ``data`` may be added."""

    #: In the order of events.
    id: int
    #: Such as "quota.warning".
    type: str
    #: When it happened, in RFC 3339.
    timestamp: str
    data: dict[str, Any]


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes | str) -> Event:
    """Returns the event of a message to a webhook.

    ``secret`` is the webhook's, which begins with ``whsec_``, and ``body`` the whole body as it arrived. A
    receiver may get the same event twice, with the same id.

    Raises InvalidWebhook if the signature of Standard Webhooks is not valid: respond with 401 then, and
    with any 2xx otherwise, within 15 seconds.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("the secret of the webhook must be the text that begins with whsec_")
    if isinstance(body, str):
        body = body.encode()
    sent = {name.lower(): value for name, value in headers.items()}
    message, timestamp = sent.get("webhook-id", ""), sent.get("webhook-timestamp", "")
    if not message or not (timestamp.isascii() and timestamp.isdigit()):
        raise InvalidWebhook("the headers webhook-id and webhook-timestamp are missing")
    if abs(_time.wall() - int(timestamp)) > _TOLERANCE:
        raise InvalidWebhook("the message is not from the last 5 minutes; check this machine's clock")
    signed = hmac.new(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    want = b"v1," + base64.b64encode(signed)
    signatures = sent.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(signature, want) for signature in signatures):
        raise InvalidWebhook("no signature matches")
    event = json.loads(body)
    return Event(event["id"], event["type"], event["timestamp"], event["data"])
