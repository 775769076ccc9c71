"""Time and randomness. Tests replace these functions."""

import random
import threading
import time

Condition = threading.Condition

#: Longer waits are split, in seconds.
LONGEST_WAIT = 86400.0


def wall() -> float:
    """Returns Unix seconds."""
    return time.time()


def now() -> float:
    """Returns the seconds of the monotonic clock."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def jitter(seconds: float) -> float:
    """Returns a random delay, so that clients do not retry at the same time."""
    return random.uniform(0, seconds)
