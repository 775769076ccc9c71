"""The limits and waiting times in the headers of a response."""

from __future__ import annotations

import email.utils
import re
from dataclasses import dataclass

from httpx import Headers

from . import _time

#: Longer waits are shortened to this, in seconds: 100 years.
LONGEST = 100 * 365 * 86400.0


@dataclass(frozen=True)
class Window:
    """A period with a quota."""

    name: str  #: such as "minute"
    limit: int  #: the quota
    length: float  #: in seconds
    remaining: int
    reset: float  #: its end, in Unix seconds by this machine's clock


@dataclass(frozen=True)
class Limits:
    """The limits in a response.

    ``limit``, ``remaining`` and ``reset`` describe the most restrictive window; ``reset`` is in
    Unix seconds by the service's clock. ``windows`` are all windows.
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
    """Returns all windows, or none if the headers name different ones: a service that does not know
    all counts omits some."""
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
    """Parses items such as "minute";r=59;t=42."""
    items = re.findall(r'"([^"]*)"([^,]*)', field)
    return {name: {key: int(value) for key, value in re.findall(r";\s*(\w+)=(\d+)", parameters)} for name, parameters in items}


def room(windows: tuple[Window, ...]) -> tuple[Window, float] | None:
    """Returns the window with the fewest remaining requests, and when that number expires: at its
    end if none remain, else when the first of the windows ends. Returns None if they are not the
    account's windows."""
    if not windows or windows[0].name == "address":
        return None
    tightest = min(windows, key=lambda w: (w.remaining, -w.reset))
    return tightest, tightest.reset if tightest.remaining == 0 else min(w.reset for w in windows)


def read_retry_after(headers: Headers) -> float | None:
    """Reads Retry-After, in seconds. A date is relative to the Date of the response."""
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
