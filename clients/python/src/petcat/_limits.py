"""What the headers of an answer say about limits and waiting."""

from __future__ import annotations

import email.utils
import re
from dataclasses import dataclass

from . import _time
from ._http import Headers

#: The longest wait that is told apart from a longer one: 100 years, in seconds.
LONGEST = 100 * 365 * 86400.0


@dataclass(frozen=True)
class Window:
    """A period with a quota."""

    name: str  #: such as "minute"
    limit: int  #: the quota
    length: float  #: in seconds
    remaining: int
    reset: float  #: when it ends, in seconds since 1970 by this machine's clock


@dataclass(frozen=True)
class Limits:
    """The limits that an answer tells.

    ``limit``, ``remaining`` and ``reset`` describe the most restrictive window; ``reset`` is in
    seconds since 1970 by the service's clock. ``windows`` are all windows.
    """

    limit: int
    remaining: int
    reset: int
    windows: tuple[Window, ...]


def read_limits(headers: Headers) -> Limits | None:
    try:
        limit, remaining, reset = (int(headers["X-RateLimit-" + name]) for name in ("Limit", "Remaining", "Reset"))
    except (KeyError, ValueError):
        return None
    return Limits(limit, remaining, reset, _windows(headers))


def _windows(headers: Headers) -> tuple[Window, ...]:
    """All windows, none unless both headers tell of the same: a service that cannot know all
    counts leaves some out."""
    states, policies = _items(headers.get("RateLimit", "")), _items(headers.get("RateLimit-Policy", ""))
    if states.keys() != policies.keys():
        return ()
    try:
        return tuple(
            Window(name, policies[name]["q"], policies[name]["w"], state["r"], _time.wall() + state["t"]) for name, state in states.items()
        )
    except KeyError:
        return ()


def _items(field: str) -> dict[str, dict[str, int]]:
    """A list of items such as "minute";r=59;t=42."""
    items = re.findall(r'"([^"]*)"([^,]*)', field)
    return {name: {key: int(value) for key, value in re.findall(r";\s*(\w+)=(\d+)", parameters)} for name, parameters in items}


def room(windows: tuple[Window, ...]) -> tuple[Window, float] | None:
    """The window with the fewest remaining requests, and until when that number holds: until its
    end if none remain, else until the first of the windows ends. None without the account's."""
    if not windows or windows[0].name == "address":
        return None
    tightest = min(windows, key=lambda w: (w.remaining, -w.reset))
    return tightest, tightest.reset if tightest.remaining == 0 else min(w.reset for w in windows)


def read_retry_after(headers: Headers) -> float | None:
    """Retry-After in seconds; a date is relative to that of the answer."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST)
    until = _date(text)
    if until is None:
        return None
    received = _date(headers.get("Date", ""))
    return min(max(0.0, until - (_time.wall() if received is None else received)), LONGEST)


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
