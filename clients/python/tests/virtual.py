"""Threads and event loops in virtual time. One thread runs at a time, and when all wait, time advances to the end of the first wait."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable


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

    def event(self) -> VirtualEvent:
        return VirtualEvent(self)


class VirtualEvent:
    """petcat._time.Event in virtual time; one thread runs at a time, so it does not need a lock."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._waiters: list[_Thread] = []
        self._set = False

    def set(self) -> None:
        self._set = True
        for thread in self._waiters:
            thread.ready = True
        self._waiters.clear()

    def wait(self, seconds: float | None) -> None:
        if not self._set:
            self._time.block(None if seconds is None else self._time.at + seconds, self._waiters)
        self._set = False


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, without network."""

    def __init__(self, time: VirtualTime) -> None:
        self._virtual = time
        super().__init__(_Selector(time))

    def time(self) -> float:
        return self._virtual.at


class _Selector(selectors.SelectSelector):
    """Instead of waiting, advances the time."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._virtual = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self._virtual.at += timeout + 1e-6  # more than a rounding error
        return super().select(0)
