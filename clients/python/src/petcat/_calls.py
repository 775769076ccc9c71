"""Calls of operations: their requests and retries, without I/O.

``Core.steps`` is a generator. It yields what to do next, a ``Request`` or a ``Pause``, and gets the
response of each request. ``_transport.py`` does it, with threads or with async.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import re
import urllib.parse
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import Any, Generic, TypedDict, TypeVar

from httpx import Headers

from . import _time
from ._errors import APIError, ConnectionFailed, PetcatError, RateLimited, error_class
from ._gate import Gate, Wait
from ._limits import Limits, read_limits, read_retry_after
from ._models import E, RawResponse, Response, Unexpected, list_of, members

T = TypeVar("T")

log = logging.getLogger("petcat")

#: The delays between the requests of one call, before jitter: they double from the first to the maximum.
_FIRST_DELAY = 0.5
_MAX_DELAY = 30.0
#: How often a failed connection is retried while the service has never responded, which takes at
#: most 1.5 s: the URL may be wrong.
_FIRST_CONNECTIONS = 2
#: How long a create is retried with its idempotency key. The service keeps a key for 24 hours.
_KEY_LIFE = 23 * 3600.0
_GATEWAY = frozenset((500, 502, 503, 504, *range(520, 525)))


class CallOptions(TypedDict, total=False):
    """Options of one call."""

    timeout: float  #: of each request with its whole response, in seconds
    deadline: float  #: of the whole call with its waits and retries, in seconds
    max_retries: int
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Retry:
    """The argument of ``on_retry``: a request failed and is retried."""

    error: PetcatError
    attempt: int  #: 1 for the first retry of a call
    delay: float  #: minimum, in seconds


@dataclass(frozen=True)
class Request:
    """A step: send this, and pass the response to the generator, or throw ``NoResponse`` into it."""

    method: str
    url: str
    headers: Headers  # without the key
    body: bytes | None
    timeout: float  # seconds, for the whole response


@dataclass(frozen=True)
class Pause:
    """A step: wait, at most for a time, until the call's event is set."""

    seconds: float | None


Step = Request | Pause


class NoResponse(Exception):
    """There was no response. ``sent`` is whether the service may have read the request, ``retry``
    whether another request may succeed."""

    def __init__(self, message: str, *, sent: bool, retry: bool = True) -> None:
        super().__init__(message)
        self.sent, self.retry = sent, retry


@dataclass
class Call(Generic[T]):
    """A call of an operation. All its requests are the same."""

    method: str
    path: str
    read: Callable[[Any, RawResponse], T]  # converts the JSON to the result, or raises Unexpected
    options: CallOptions
    query: Mapping[str, object] = field(default_factory=lambda: dict[str, object]())
    body: object = None
    headers: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    unknown_since: float | None = None  # when the first request was sent whose outcome is unknown

    @property
    def repeatable(self) -> bool:
        """Whether a second request is safe if the outcome of the first is unknown."""
        return self.method != "PATCH" or "If-Match" in self.headers

    @property
    def counted(self) -> bool:
        """Whether it counts against the limits, and passes the gate."""
        return self.path not in ("/usage", "/usage/history", "/key")


@dataclass(frozen=True)
class Settings:
    """The options of a client."""

    base_url: str
    user_agent: str
    max_retries: int
    max_wait: float
    timeout: float
    deadline: float | None
    on_retry: Callable[[Retry], object] | None
    on_wait: Callable[[Wait], object] | None


class Core:
    """Decides which requests one client sends, and when."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.gate = Gate(settings.max_wait)
        self.limits: Limits | None = None
        self._responded = False  # by the service, or by a proxy

    def steps(self, call: Call[T], wake: Callable[[], None]) -> Generator[Step, RawResponse | None, Response[T]]:
        """Yields requests until one succeeds, or fails in a way that a retry cannot change. wake
        sets the event that ends a pause."""
        unknown = call.options.keys() - CallOptions.__optional_keys__
        if unknown:
            raise TypeError(f"a call has no option {', '.join(sorted(unknown))}")
        try:
            return (yield from self._attempts(call, wake))
        except PetcatError as error:
            error.outcome_unknown = call.unknown_since is not None and call.method != "GET"
            raise

    def _attempts(self, call: Call[T], wake: Callable[[], None]) -> Generator[Step, RawResponse | None, Response[T]]:
        settings, options = self.settings, call.options
        headers = self._headers(call)
        deadline = _positive(options.get("deadline", settings.deadline), "deadline")
        timeout = _positive(options.get("timeout", settings.timeout), "timeout")
        retries = options.get("max_retries", settings.max_retries)
        ends = _time.now() + deadline
        gate = self.gate if call.counted else Gate(settings.max_wait)
        last: PetcatError | None = None
        for attempt in itertools.count(1):
            number = yield from self._enter(gate, wake, ends, last)
            if last and "Idempotency-Key" in call.headers and call.unknown_since and _time.wall() - call.unknown_since > _KEY_LIFE:
                gate.done(number)
                raise last
            sent = _time.wall()
            try:
                return (yield from self._once(call, headers, gate, number, max(min(timeout, ends - _time.now()), 0.001)))
            except PetcatError as error:
                last, again, unknown = error, *_judge(call, error)
            if unknown and call.unknown_since is None:
                call.unknown_since = sent
            retry_after = (last.retry_after or 0) if isinstance(last, APIError) else 0
            gated = isinstance(last, RateLimited)  # the gate delays the next request
            backoff = min(_FIRST_DELAY * 2 ** min(attempt - 1, 16), _MAX_DELAY) / 2
            delay = retry_after if gated else retry_after + backoff + _time.jitter(backoff)
            if not self._responded and isinstance(last.__cause__, NoResponse) and not last.__cause__.sent:
                retries = min(retries, _FIRST_CONNECTIONS)
            if not again or attempt > retries or retry_after > settings.max_wait or _time.now() + delay >= ends:
                raise last
            log.info("request failed and is retried: %s %s: %s (retry %d in %.1f s)", call.method, call.path, last, attempt, delay)
            if settings.on_retry:
                settings.on_retry(Retry(last, attempt, delay))
            if not gated:
                yield from _pause(delay)
        raise AssertionError

    def _enter(
        self, gate: Gate, wake: Callable[[], None], ends: float, last: PetcatError | None
    ) -> Generator[Step, RawResponse | None, int]:
        """Passes the gate, and returns the number of the request."""
        waiter = gate.join(wake)
        told: Wait | None = None
        try:
            while True:
                left = ends - _time.now()
                if left <= 0:
                    raise last or ConnectionFailed("the deadline passed before the request could be sent")
                wait = gate.ask(waiter, left)
                if waiter.number:
                    return waiter.number
                closed = gate.closed()
                if closed and not (told and told.error is closed.error):  # once for each reason
                    told = closed
                    self._tell(closed)
                wait = min(left if wait is None else wait, left, _time.LONGEST_WAIT)
                yield Pause(None if wait == math.inf else wait)
        except RateLimited as error:
            if isinstance(last, RateLimited) and error is not last:
                raise last from None  # the same, from the service itself
            raise
        finally:
            gate.leave(waiter)

    def _tell(self, wait: Wait) -> None:
        log.info("waiting %.0f s for the limits of the account: %s", wait.seconds, wait.error or "requests are spread over the window")
        if self.settings.on_wait:
            self.settings.on_wait(wait)

    def _once(
        self, call: Call[T], headers: Headers, gate: Gate, number: int, timeout: float
    ) -> Generator[Step, RawResponse | None, Response[T]]:
        """Yields one request, and reports its outcome to the gate."""
        query = "?" + urllib.parse.urlencode(call.query) if call.query else ""
        body = None if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        try:
            raw = yield Request(call.method, self.settings.base_url + call.path + query, headers, body, timeout)
            assert raw
        except BaseException as error:
            gate.done(number)
            if isinstance(error, NoResponse):
                raise ConnectionFailed(str(error)) from error
            raise
        self._responded = True
        failure = self._failure(call, raw)
        changes = failure.code == "too_many_changes"  # other requests go on
        limits = None if changes or failure.code == "address_not_allowed" else read_limits(raw.headers)
        if limits and (call.counted or raw.status != 429):  # else they are not the account's
            self.limits = limits
        gate.done(number, limits, failure if isinstance(failure, RateLimited) and not changes else None)
        unchanged = raw.status == 304 and "If-None-Match" in call.headers
        # An earlier request of this call, whose response was lost, deleted it.
        gone = call.method == "DELETE" and call.unknown_since is not None and failure.status == 404 and failure.code == "not_found"
        if not (200 <= raw.status < 300 or unchanged or gone):
            raise failure
        try:
            value = call.read(json.loads(raw.body) if raw.body and not gone else None, raw)
        except (Unexpected, ValueError) as error:
            message = f"the response with status {raw.status} is not from the service; is {self.settings.base_url} its URL?"
            raise ConnectionFailed(message) from error
        return Response(value, raw.status, raw.headers, raw.headers.get("X-Request-Id"), limits)

    def _headers(self, call: Call[Any]) -> Headers:
        content = {} if call.body is None else {"Content-Type": "application/json"}
        headers = checked_headers(call.options.get("headers", {}))
        headers.update({"User-Agent": self.settings.user_agent, "Accept": "application/json", **content})
        headers.update(call.headers)
        return headers

    def _failure(self, call: Call[Any], raw: RawResponse) -> APIError:
        """Returns the error of a response."""
        code, message = "", f"{responses.get(raw.status, 'response')} (not from the service)"
        line = raw.body[:400].decode(errors="replace").strip()
        if 300 <= raw.status < 400:
            where = raw.headers.get("Location", "(unknown)").partition("?")[0].removesuffix(call.path)
            message = f"redirects are not followed, because the key is for one service alone; if you trust it, use its URL: {where}"
        try:
            given = members(json.loads(raw.body))
            if isinstance(given.get("code"), str) and isinstance(given.get("message"), str):
                code, message = given["code"], given["message"]
        except (Unexpected, ValueError):
            # Not the service's. One line of text may explain it, such as that the server expects https.
            if line and len(line) < 200 and not re.search(r"[<{\[\n]", line):
                message = line
        retry_after = read_retry_after(raw.headers)
        return error_class(raw.status)(
            raw.status, code, message, raw.headers.get("X-Request-Id"), retry_after, headers=raw.headers
        )


def _pause(seconds: float) -> Generator[Step, RawResponse | None, None]:
    """Pauses for a whole time, even if the event was still set."""
    until = _time.now() + seconds
    while (left := until - _time.now()) > 0:
        yield Pause(min(left, _time.LONGEST_WAIT))


def _judge(call: Call[Any], error: PetcatError) -> tuple[bool, bool]:
    """Returns whether a request may be retried after an error, and whether it may have been carried
    out."""
    if isinstance(error, APIError):
        waits = error.status in _GATEWAY or (error.status == 409 and error.retry_after is not None)
        rejected = error.status in (408, 429) and error.code not in ("too_many_failed_attempts", "too_many_changes")
        return rejected or (call.repeatable and waits), error.status >= 500 or error.code == "idempotency_in_progress"
    cause = error.__cause__
    if isinstance(cause, NoResponse):
        return call.repeatable and cause.retry, cause.sent
    return False, True  # the response is not from the service


def _positive(seconds: float | None, name: str) -> float:
    if seconds is None:
        return math.inf
    try:
        valid = seconds > 0
    except TypeError:
        valid = False
    if not valid:
        raise ValueError(f"{name} must be a positive number of seconds")
    return seconds


def checked_headers(headers: Mapping[str, str]) -> Headers:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch(r"[\t -~]*", value):
            raise ValueError(f"the header {name!r} cannot be sent with its value")
    return Headers(headers)


class Pages(Generic[E]):
    """Reads a list in pages: ``call`` is the call of the next page until it is None."""

    def __init__(self, path: str, kind: type[E], page_size: int, after: int, query: Mapping[str, object], options: CallOptions) -> None:
        self._path, self._size, self._after, self._query, self._options = path, page_size, after, query, options
        self._read: Callable[[object, RawResponse], list[E]] = list_of(kind)
        self.call: Call[list[E]] | None = self._next()

    def _next(self) -> Call[list[E]]:
        position = {"after": self._after} if self._after else {}
        return Call("GET", self._path, self._read, self._options, {"limit": self._size, **self._query, **position})

    def read(self, page: Response[list[E]]) -> Iterable[E]:
        """Yields the elements of a page, and then sets the next call."""
        yield from page.value
        linked = re.search(r';\s*rel="?next\b', page.headers.get("Link", ""))
        if not page.value or (len(page.value) < self._size and not linked):
            self.call = None
            return
        last = page.value[-1].id
        if last <= self._after:
            raise ConnectionFailed("the next page is the same page")
        self._after = last
        self.call = self._next()
