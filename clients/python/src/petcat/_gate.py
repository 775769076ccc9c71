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

from . import _time
from ._errors import RateLimited
from ._limits import Limits, Window, room

#: How long the gate relies on the numbers of a response, in seconds: other clients may use the
#: requests that remain. It is also the longest time that it waits for the response to a first request.
TRUST = 1.0
#: A window ends at the same time for all clients, so each sends again after a random delay: up to
#: a sixtieth of the window, and up to one, two, four seconds and so on after consecutive 429s.
SPREAD_PART = 60
FIRST_SPREAD = 1.0
MAX_SPREAD = 60.0


class Gate:
    def __init__(self, max_wait: float) -> None:
        self.max_wait = max_wait
        self._changed = _time.Condition()  # guards all attributes below
        self._queue: list[object] = []  # first in, first out
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

    def enter(self) -> int:
        """Waits until a request may be sent, and returns its number, with which done must be called
        once. If the wait would be too long, raises the error that the service would respond with."""
        me = object()
        with self._changed:
            self._queue.append(me)
            try:
                while True:
                    self._check_wait()
                    wait = self._wait() if self._queue[0] is me else None
                    if wait == 0:
                        break
                    self._changed.wait(wait)
                self._in_flight += 1
                self._sent += 1
                return self._sent
            finally:
                self._queue.remove(me)
                self._changed.notify_all()

    def _check_wait(self) -> None:
        wait = self._opens - _time.now()
        if self._closed and wait > 0 and wait > self.max_wait:
            why = self._closed
            raise RateLimited(why.status, why.code, why.message, why.request_id, math.ceil(wait), not_sent=True)

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
        with self._changed:
            if self._closed:
                self._opens = _time.now()
                self._changed.notify_all()

    def done(self, number: int, limits: Limits | None = None, rejected: RateLimited | None = None) -> None:
        """Records the outcome of a request: its 429, or the limits in its response, which are None
        if it got no response, or one without limits."""
        known = room(limits.windows) if limits else None
        with self._changed:
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
            self._changed.notify_all()

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
