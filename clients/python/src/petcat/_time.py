"""Time and chance. Tests replace these functions."""

import random
import threading
import time

Condition = threading.Condition

#: Longer waits are made of several, in seconds.
LONGEST_WAIT = 86400.0


def wall() -> float:
    """The seconds since 1970."""
    return time.time()


def now() -> float:
    """The seconds since some beginning, by a clock that nobody sets."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def jitter(seconds: float) -> float:
    """A random time, so that what failed together is not sent again together."""
    return random.uniform(0, seconds)
