"""Calls of operations: their requests and retries."""

from __future__ import annotations

import itertools
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, responses
from typing import Any, Generic, TypedDict, TypeVar

from . import _time
from ._errors import APIError, ConnectionFailed, PetcatError, RateLimited, error_class
from ._gate import Gate
from ._http import NotSent, RawResponse, Request, Transport
from ._limits import Limits, read_limits, read_retry_after
from ._models import E, Response, Unexpected, list_of, members

T = TypeVar("T")

#: The delays between the requests of one call, before jitter: they double from the first to the maximum.
_FIRST_DELAY = 0.5
_MAX_DELAY = 30.0
#: How long a create is retried with its idempotency key. The service keeps a key for 24 hours.
_KEY_LIFE = 23 * 3600.0
_GATEWAY = frozenset((500, 502, 503, 504, *range(520, 525)))


class CallOptions(TypedDict, total=False):
    """Options of one call."""

    timeout: float
    max_retries: int
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Retry:
    """The argument of ``on_retry``: a request failed and is retried."""

    error: PetcatError
    attempt: int  #: 1 for the first retry of a call
    delay: float  #: minimum, in seconds


@dataclass
class Call(Generic[T]):
    """A call of an operation. All its requests are the same."""

    method: str
    path: str
    read: Callable[[Any, RawResponse], T]  # converts the JSON to the result, or raises Unexpected
    query: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    body: object = None
    headers: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    repeatable: bool = True  # a second request is safe if the outcome of the first is unknown
    counted: bool = True  # counts against the limits, and passes the gate
    options: CallOptions = field(default_factory=lambda: CallOptions())
    unknown_since: float | None = None  # when the first request was sent whose outcome is unknown


@dataclass(frozen=True)
class Settings:
    """The options of a client."""

    max_retries: int
    max_wait: float
    timeout: float
    on_retry: Callable[[Retry], object] | None


class Caller:
    """Sends the requests of one client."""

    def __init__(self, base_url: str, own_headers: Callable[[], dict[str, str]], transport: Transport, settings: Settings) -> None:
        self._base, self._own_headers, self._transport, self._settings = base_url, own_headers, transport, settings
        self.gate = Gate(settings.max_wait)
        self.limits: Limits | None = None

    def call(self, call: Call[T]) -> Response[T]:
        """Sends requests until one succeeds, or fails in a way that a retry cannot change."""
        unknown = call.options.keys() - CallOptions.__optional_keys__
        if unknown:
            raise TypeError(f"a call has no option {', '.join(sorted(unknown))}")
        try:
            return self._attempts(call)
        except PetcatError as error:
            error.outcome_unknown = call.unknown_since is not None and call.method != "GET"
            raise

    def _attempts(self, call: Call[T]) -> Response[T]:
        gate = self.gate if call.counted else Gate(self._settings.max_wait)
        last: PetcatError | None = None
        for attempt in itertools.count(1):
            try:
                number = gate.enter()
            except RateLimited:
                if isinstance(last, RateLimited):
                    raise last from None  # the same, from the service itself
                raise
            if last and "Idempotency-Key" in call.headers and call.unknown_since and _time.wall() - call.unknown_since > _KEY_LIFE:
                gate.done(number)
                raise last
            sent = _time.wall()
            try:
                return self._once(call, gate, number)
            except PetcatError as error:
                last, again, unknown = error, *_judge(call, error)
            if unknown and call.unknown_since is None:
                call.unknown_since = sent
            retry_after = (last.retry_after or 0) if isinstance(last, APIError) else 0
            if not again or attempt > call.options.get("max_retries", self._settings.max_retries) or retry_after > self._settings.max_wait:
                raise last
            gated = isinstance(last, RateLimited)  # the gate delays the next request
            backoff = min(_FIRST_DELAY * 2 ** min(attempt - 1, 16), _MAX_DELAY) / 2
            delay = retry_after if gated else retry_after + backoff + _time.jitter(backoff)
            if self._settings.on_retry:
                self._settings.on_retry(Retry(last, attempt, delay))
            if not gated:
                _time.sleep(delay)
        raise AssertionError

    def _once(self, call: Call[T], gate: Gate, number: int) -> Response[T]:
        """Sends one request, and reports its outcome to the gate."""
        try:
            response = self._transport(self._request(call))
        except BaseException as error:
            gate.done(number)
            if isinstance(error, NotSent):
                raise ConnectionFailed(str(error)) from error
            if isinstance(error, (OSError, HTTPException)):
                raise ConnectionFailed(f"no response: {error or type(error).__name__}") from error
            raise
        limits = read_limits(response.headers)
        if limits and (call.counted or response.status != 429):  # else they are not the account's
            self.limits = limits
        if response.status == 429:
            rejected = RateLimited(429, *_reason(response))
            gate.done(number, rejected=rejected)
            raise rejected
        gate.done(number, limits)
        unchanged = response.status == 304 and "If-None-Match" in call.headers
        # An earlier request of this call, whose response was lost, deleted it.
        gone = response.status == 404 and call.method == "DELETE" and call.unknown_since is not None
        if not (200 <= response.status < 300 or unchanged or gone):
            raise error_class(response.status)(response.status, *_reason(response))
        try:
            value = call.read(json.loads(response.body) if response.body else None, response)
        except (Unexpected, ValueError) as error:
            raise ConnectionFailed(f"the response with status {response.status} is not from the service; is {self._base} its URL?") from error
        return Response(value, response.status, response.headers, response.headers.get("X-Request-Id"), limits)

    def _request(self, call: Call[Any]) -> Request:
        query = "?" + urllib.parse.urlencode(call.query) if call.query else ""
        content = {} if call.body is None else {"Content-Type": "application/json"}
        own = {**self._own_headers(), **content, **call.headers}
        names = {name.lower() for name in own}
        others = {name: value for name, value in call.options.get("headers", {}).items() if name.lower() not in names}
        body = None if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        return Request(call.method, self._base + call.path + query, {**others, **own}, body, call.options.get("timeout", self._settings.timeout))

    def pages(self, path: str, kind: type[E], page_size: int, after: int, query: dict[str, int], options: CallOptions) -> Iterator[E]:
        while True:
            position = {"after": after} if after else {}
            page = self.call(Call("GET", path, list_of(kind), query={"limit": page_size, **query, **position}, options=options))
            yield from page.value
            if not page.value or (len(page.value) < page_size and not re.search(r';\s*rel="?next\b', page.headers.get("Link", ""))):
                return
            last = page.value[-1].id
            if last <= after:
                raise ConnectionFailed("the next page is the same page")
            after = last


def _judge(call: Call[Any], error: PetcatError) -> tuple[bool, bool]:
    """Returns whether a request may be retried after an error, and whether it may have been carried
    out."""
    if isinstance(error, APIError):
        waits = error.status in _GATEWAY or (error.status == 409 and error.retry_after is not None)
        rejected = error.status in (408, 429) and error.code != "too_many_failed_attempts"
        return rejected or (call.repeatable and waits), error.status >= 500 or error.code == "idempotency_in_progress"
    cause = error.__cause__
    if isinstance(cause, NotSent):
        return call.repeatable and cause.retry, False
    return call.repeatable and not isinstance(cause, (Unexpected, ValueError)), True


def _reason(response: RawResponse) -> tuple[str, str, str | None, float | None]:
    """Returns code, message, request id and Retry-After of an error response."""
    code, message = "", f"{responses.get(response.status, 'response')} (not from the service)"
    line = response.body[:400].decode(errors="replace").strip()
    if 300 <= response.status < 400:
        message = "redirects are not followed, because the key is for one service alone; if you trust it, use its URL: "
        message += response.headers.get("Location", "(unknown)")
    try:
        given = members(json.loads(response.body))
        if isinstance(given.get("code"), str) and isinstance(given.get("message"), str):
            code, message = given["code"], given["message"]
    except (Unexpected, ValueError):
        # Not the service's. One line of text may explain it, such as that the server expects https.
        if line and len(line) < 200 and not re.search(r"[<{\[\n]", line):
            message = line
    return code, message, response.headers.get("X-Request-Id"), read_retry_after(response.headers)
