"""The gate delays the requests of a client until the service will allow them.

While the limits are unknown, it allows one request and holds the others until the response
arrives, for at most a second. The response says how many requests remain. For the next second, the
gate allows that many, minus those in flight. When none remain, it closes until the window has
ended, plus a random delay. After a 429, it closes until Retry-After has passed, plus a random delay
that doubles with each consecutive 429. Then it allows one request, and spreads the others over the
window.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

from . import _time
from ._errors import RateLimited
from ._limits import Limits, Window, room

#: How long the gate relies on the numbers of a response, in seconds: other clients may use the
#: requests that remain. It is also the longest time that it waits for the response to a first request.
TRUST = 1.0
#: A window resets at the same time for all clients, so each sends again after a random delay: up to
#: a sixtieth of the window, and up to one, two, four seconds and so on after consecutive 429s.
SPREAD_PART = 60
FIRST_SPREAD = 1.0
MAX_SPREAD = 60.0


#: Shorter waits are not reported.
REPORTED_WAIT = 1.0


@dataclass(frozen=True)
class Wait:
    """The argument of ``on_wait``: a call waits, because the service would reject its request."""

    seconds: float  #: the minimum
    error: RateLimited | None  #: the service's response to a request now; None if requests are only spread


class Waiter:
    """A call that waits to send a request."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake  # says that the gate must be asked again
        self.number = 0  # of the request, when it is allowed


class Gate:
    """Decides, and never waits: its callers do."""

    def __init__(self, max_wait: float) -> None:
        self.max_wait = max_wait
        self._lock = threading.Lock()  # guards all attributes below
        self._queue: list[Waiter] = []  # first in, first out
        self._opens = 0.0  # no request is allowed earlier
        self._closed: RateLimited | None = None  # the reason, if the service rejects requests
        # How many requests the service would allow, and how many of them are in flight.
        self._remaining = self._in_flight = 0
        self._valid_until = 0.0  # after that, _remaining is unknown
        # Until _spread_until, requests are evenly spaced, as many as _spread_over in the time left.
        self._spread_until = 0.0
        self._spread_over = 1
        self._sent = 0  # the number of the last request
        self._known = 0  # _sent at the last response that counted: later requests have newer responses
        self._rejections = 0  # consecutive 429s

    def join(self, wake: Callable[[], None]) -> Waiter:
        """Adds a call to the queue. Call ask until it sets a number, and then leave."""
        waiter = Waiter(wake)
        with self._lock:
            self._queue.append(waiter)
        return waiter

    def ask(self, waiter: Waiter, longest: float) -> float | None:
        """Returns how long to wait before the next ask, at most; None: until the waiter is woken. If
        the waiter may send its request now, ask sets its number, with which done must be called
        once. If it would wait longer than it can, in seconds, or than max_wait, raises the error
        that the service would respond with."""
        with self._lock:
            self._check_wait(longest)
            if self._queue[0] is not waiter:
                return None
            wait = self._wait()
            if wait == 0:
                self._in_flight += 1
                self._sent += 1
                waiter.number = self._sent
            return wait

    def leave(self, waiter: Waiter) -> None:
        """Removes a call from the queue."""
        with self._lock:
            self._queue.remove(waiter)
            self._wake()

    def closed(self) -> Wait | None:
        """Returns the wait of every new request; None if it is too short to report."""
        with self._lock:
            seconds = self._opens - _time.now()
            return Wait(seconds, self._closed) if seconds > REPORTED_WAIT else None

    def _wake(self) -> None:
        for waiter in self._queue:
            waiter.wake()

    def _check_wait(self, longest: float) -> None:
        wait = self._opens - _time.now()
        if self._closed and wait > 0 and wait > min(self.max_wait, longest):
            why = self._closed
            raise RateLimited(why.status, why.code, why.message, why.request_id, math.ceil(wait), True, why.headers)

    def _wait(self) -> float:
        """Returns how long the first call in the queue must wait."""
        at = _time.now()
        if at < self._opens:
            return min(self._opens - at, _time.LONGEST_WAIT)
        self._closed = None
        if at >= self._valid_until:  # the limits are unknown: one request goes first
            self._remaining, self._valid_until = self._in_flight + 1, at + TRUST
        if self._remaining <= self._in_flight:
            return self._valid_until - at
        if self._spread_until > at:
            self._opens = at + (self._spread_until - at) / max(self._spread_over, 1)
        return 0

    def reopen(self) -> None:
        """Opens the gate, because the service says that it would allow requests."""
        with self._lock:
            if self._closed:
                self._opens = _time.now()
                self._wake()

    def done(self, number: int, limits: Limits | None = None, rejected: RateLimited | None = None) -> None:
        """Records the outcome of a request: its 429, or the limits in its response, which are None
        if it got no response, or one without limits."""
        known = room(limits.windows) if limits else None
        with self._lock:
            self._in_flight -= 1
            newer = number > self._known
            if rejected:
                self._reject(rejected, newer)
            elif known is None:  # the service may have counted the request
                self._remaining -= 1
                if self._in_flight == 0:
                    self._valid_until = 0.0  # the service may have been restarted, with new counts
            # Of the responses to concurrent requests, the lowest counts: any of them may be the
            # last that the service allowed.
            elif newer or (not self._closed and known[0].remaining < self._remaining):
                self._update(*known, newer)
            self._wake()

    def _reject(self, why: RateLimited, newer: bool) -> None:
        if not self._closed or newer:  # else the 429 belongs to one that was counted
            self._rejections += 1
        self._known = self._sent
        spread = min(FIRST_SPREAD * 2 ** min(self._rejections - 1, 16), MAX_SPREAD)
        # Without Retry-After, the delay is at least half of the spread.
        wait = spread / 2 + _time.jitter(spread / 2) if why.retry_after is None else why.retry_after + _time.jitter(spread)
        self._close(why, max(_time.now() + wait, self._opens if self._closed else 0))

    def _update(self, window: Window, valid_until: float, newer: bool) -> None:
        until = _time.now() + valid_until - _time.wall()
        if newer and self._rejections > 0:
            self._rejections, self._spread_until = 0, until
        self._known, self._remaining, self._spread_over = self._sent, window.remaining, window.remaining
        self._valid_until = min(_time.now() + TRUST, until)
        if window.remaining == 0:
            spread = min(max(window.length / SPREAD_PART, FIRST_SPREAD), MAX_SPREAD)
            self._close(_exhausted(window), until + _time.jitter(spread))

    def _close(self, why: RateLimited, until: float) -> None:
        self._closed, self._opens, self._valid_until = why, until, 0.0


def _exhausted(window: Window) -> RateLimited:
    """Returns the error that the service responds with until the end of an exhausted window."""
    code = "daily_quota_exceeded" if window.name == "day" else "rate_limit_exceeded"
    return RateLimited(429, code, f"all {window.limit} requests of the {window.name} are used")
