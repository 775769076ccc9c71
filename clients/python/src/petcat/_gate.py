"""The gate that all requests of a client pass, as many as the service will admit.

While the limits are unknown, one request passes and the others wait for its answer, for at most a
second. An answer says how many requests remain: for a second, so many pass, less those in flight.
When none remain, the gate closes until the window ends and a little longer. After a 429 it closes
until Retry-After has passed and a random time longer, which doubles with each 429 in a row; then
one request goes first, and the others are spread over that window.
"""

from __future__ import annotations

import math

from . import _time
from ._errors import RateLimited
from ._limits import Limits, Window, room

#: How long the numbers of an answer are believed, in seconds: other clients may use the requests
#: that remain. It is also how long the gate waits for the answer to a request that goes first.
TRUST = 1.0
#: A window ends at the same time for all clients, so each sends again at a random time after that:
#: within a sixtieth of the window, and after 429s in a row within one second, two, four and so on.
SPREAD_PART = 60
FIRST_SPREAD = 1.0
MAX_SPREAD = 60.0


class Gate:
    def __init__(self, max_wait: float) -> None:
        self.max_wait = max_wait
        self._changed = _time.Condition()  # guards all below
        self._queue: list[object] = []  # first come, first served
        self._opens = 0.0  # nothing is sent before it
        self._closed: RateLimited | None = None  # why, if the service refuses requests
        # How many requests would be admitted, and how many of them have been sent.
        self._remaining = self._in_flight = 0
        self._fresh = 0.0  # until when _remaining is believed
        # Until then, requests are spread as if told requests remained.
        self._spread_till = 0.0
        self._told = 1
        self._sent = 0  # how many requests were sent
        self._learned = 0  # _sent when an answer was last believed: answers to later requests are newer
        self._refusals = 0  # 429s in a row

    def enter(self) -> int:
        """Waits until a request may be sent, and returns its number: one of the methods below must
        be called once with it. Raises what the service would answer if the wait would be too long."""
        me = object()
        with self._changed:
            self._queue.append(me)
            try:
                while True:
                    self._turn_away()
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

    def _turn_away(self) -> None:
        wait = self._opens - _time.now()
        if self._closed and wait > 0 and wait > self.max_wait:
            why = self._closed
            raise RateLimited(why.status, why.code, why.message, why.request_id, math.ceil(wait), not_sent=True)

    def _wait(self) -> float:
        """How long the first of the queue has to wait, 0 if it may pass now."""
        at = _time.now()
        if at < self._opens:
            return min(self._opens - at, _time.LONGEST_WAIT)
        self._closed = None
        if at >= self._fresh:  # nothing is known of the limits, so only one request goes first
            self._remaining, self._fresh = self._in_flight + 1, at + TRUST
        if self._remaining <= self._in_flight:
            return self._fresh - at
        if self._spread_till > at:
            self._opens = at + (self._spread_till - at) / max(self._told, 1)
        return 0

    def _close(self, why: RateLimited, until: float) -> None:
        self._closed, self._opens, self._fresh = why, until, 0.0

    def reopen(self) -> None:
        """The service says that it would admit requests."""
        with self._changed:
            if self._closed:
                self._opens = _time.now()
                self._changed.notify_all()

    def answered(self, number: int, limits: Limits | None) -> None:
        """Records that a request got an answer with these limits."""
        known = room(limits.windows) if limits else None
        if not known:
            return self.unanswered()
        tightest, until = known[0], _time.now() + known[1] - _time.wall()
        with self._changed:
            self._in_flight -= 1
            # Of answers to requests that were in flight together, the lowest counts: any of them
            # may be the last that the service admitted.
            newer = number > self._learned
            if newer or (not self._closed and tightest.remaining < self._remaining):
                if newer and self._refusals > 0:
                    self._refusals, self._spread_till = 0, until
                self._learned, self._remaining, self._told = self._sent, tightest.remaining, tightest.remaining
                self._fresh = min(_time.now() + TRUST, until)
                if tightest.remaining == 0:
                    spread = min(max(tightest.length / SPREAD_PART, FIRST_SPREAD), MAX_SPREAD)
                    self._close(_spent(tightest), until + _time.jitter(spread))
            self._changed.notify_all()

    def refused(self, number: int, why: RateLimited) -> None:
        """Records that a request got a 429."""
        with self._changed:
            self._in_flight -= 1
            if not self._closed or number > self._learned:  # else it was in flight with one that was refused
                self._refusals += 1
            self._learned = self._sent
            spread = min(FIRST_SPREAD * 2 ** min(self._refusals - 1, 16), MAX_SPREAD)
            # Without a Retry-After at least half of the spread is waited.
            wait = spread / 2 + _time.jitter(spread / 2) if why.retry_after is None else why.retry_after + _time.jitter(spread)
            self._close(why, max(_time.now() + wait, self._opens if self._closed else 0))
            self._changed.notify_all()

    def unanswered(self) -> None:
        """Records that a request got no answer, or one without limits. The service may have
        counted it."""
        with self._changed:
            self._in_flight -= 1
            self._remaining -= 1
            if self._in_flight == 0:
                self._fresh = 0.0  # the service may have been restarted, and count anew
            self._changed.notify_all()


def _spent(window: Window) -> RateLimited:
    """What the service would answer while no requests of a window remain."""
    code = "daily_quota_exceeded" if window.name == "day" else "rate_limit_exceeded"
    return RateLimited(429, code, f"all {window.limit} requests of the {window.name} are used")
