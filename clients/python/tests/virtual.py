"""Threads in virtual time: one runs at a time, and when all wait, time advances to the end of the first wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Deadlock(BaseException):
    """All threads wait, without a timeout."""


class _Thread:
    def __init__(self) -> None:
        self.baton = threading.Semaphore(0)
        self.ready = True
        self.until: float | None = None


class VirtualTime:
    def __init__(self, begin: float) -> None:
        self.at = begin
        self._threads: list[_Thread] = []
        self._current: _Thread | None = None
        self._dead = False

    def run(self, *functions: Callable[[], None]) -> None:
        """Runs each function in a thread, and waits for all."""
        finished = threading.Semaphore(0)
        failures: list[BaseException] = []

        def body(me: _Thread, function: Callable[[], None]) -> None:
            me.baton.acquire()
            try:
                function()
            except BaseException as error:
                failures.append(error)
            self._threads.remove(me)
            self._pass_on()
            finished.release()

        for function in functions:
            me = _Thread()
            self._threads.append(me)
            threading.Thread(target=body, args=(me, function), daemon=True).start()
        self._pass_on()
        for _ in functions:
            finished.acquire()
        if failures:
            raise failures[0]

    def sleep(self, seconds: float) -> None:
        self.block(self.at + seconds)

    def block(self, until: float | None, waiters: list[_Thread] | None = None) -> None:
        """Blocks until a time, or until another thread makes this waiter ready."""
        me = self._current
        assert me
        me.ready, me.until = False, until
        if waiters is not None:
            waiters.append(me)
        self._pass_on()
        me.baton.acquire()
        if waiters is not None and me in waiters:
            waiters.remove(me)
        if self._dead:
            raise Deadlock

    def _pass_on(self) -> None:
        """Runs the next thread."""
        ready = [thread for thread in self._threads if thread.ready]
        timed = [thread for thread in self._threads if thread.until is not None]
        if not self._threads:
            return
        if ready:
            following = ready[0]
        elif timed:
            following = min(timed, key=lambda thread: thread.until or 0)
            self.at = max(self.at, following.until or 0) + 1e-6  # more than a rounding error
        else:
            self._dead = True
            following = self._threads[0]
        following.ready, following.until = True, None
        self._threads.remove(following)
        self._threads.append(following)
        self._current = following
        following.baton.release()

    def condition(self) -> VirtualCondition:
        return VirtualCondition(self)


class VirtualCondition:
    """A threading.Condition in virtual time; one thread runs at a time, so it needs no lock."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._waiters: list[_Thread] = []

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def wait(self, timeout: float | None = None) -> None:
        self._time.block(None if timeout is None else self._time.at + timeout, self._waiters)

    def notify_all(self) -> None:
        for thread in self._waiters:
            thread.ready = True
        self._waiters.clear()
