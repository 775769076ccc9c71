"""Time and randomness. Tests replace these functions."""

import random
import threading
import time

import anyio

#: Longer waits are split, in seconds.
LONGEST_WAIT = 86400.0


def wall() -> float:
    """Returns Unix seconds."""
    return time.time()


def now() -> float:
    """Returns the seconds of the monotonic clock."""
    return time.monotonic()


def jitter(seconds: float) -> float:
    """Returns a random delay, so that clients do not retry at the same time."""
    return random.uniform(0, seconds)


class Event:
    """Wakes one thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def wait(self, seconds: float | None) -> None:
        """Waits until the event is set, at most for a time, and clears it."""
        self._event.wait(seconds)
        self._event.clear()


class AsyncEvent:
    """Wakes one task of the same event loop."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None) -> None:
        """Waits until the event is set, at most for a time, and clears it."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        self._event = anyio.Event()
