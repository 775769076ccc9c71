"""Does the steps of calls with httpx, in threads or with async."""

from __future__ import annotations

import contextlib
import os
import ssl
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import anyio
import httpx

from . import _time
from ._calls import Call, Core, NoResponse, Pause, Request, Settings, Step
from ._models import RawResponse, Response

T = TypeVar("T")
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

#: How long an idle connection is reused, in seconds: the service closes it after 60.
IDLE = 45.0
#: How long a connection may take to be made, in seconds.
_CONNECT = 10.0
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=IDLE)


class Context(Generic[Http]):
    """What a client has in one process: a forked process has its own connections and its own gate."""

    def __init__(self, settings: Settings, new_http: Callable[[], Http]) -> None:
        self._settings = settings
        self._new_http: Callable[[], Http] = new_http
        self._inherited: list[Http] = []  # not closed here: the connections are the parent's
        self._start()

    def _start(self) -> None:
        self.pid = os.getpid()
        self._core = Core(self._settings)
        self.http: Http = self._new_http()

    def current(self) -> tuple[Core, Http]:
        if self.pid != os.getpid():
            self._inherited.append(self.http)
            self._start()
        return self._core, self.http


class Caller:
    """Sends the requests of one client, from any number of threads."""

    def __init__(self, settings: Settings, auth: Callable[[httpx.Request], httpx.Request], new_http: Callable[[], httpx.Client]) -> None:
        self.context = Context(settings, new_http)
        self._auth = auth
        # Else the interpreter warns about sockets of a client that was not closed.
        weakref.finalize(self, _close, self.context)

    def __call__(self, call: Call[T]) -> Response[T]:
        core, http = self.context.current()
        event = _time.Event()
        steps = core.steps(call, event.set)
        raw: RawResponse | None = None
        try:
            step = next(steps)
            while True:
                try:
                    raw = self._do(step, http, event)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(raw)
        except StopIteration as end:
            response: Response[T] = end.value
            return response

    def _do(self, step: Step, http: httpx.Client, event: _time.Event) -> RawResponse | None:
        if isinstance(step, Pause):
            event.wait(step.seconds)
            return None
        exchange = _Exchange(step)
        try:
            response = http.send(exchange.message(http, exchange.trace), auth=self._auth, stream=True, follow_redirects=False)
            with contextlib.closing(response):
                return RawResponse(response.status_code, response.headers, b"".join(exchange.in_time(response.iter_bytes())))
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise exchange.no_response(error) from error


class AsyncCaller:
    """Sends the requests of one client, from any number of tasks of one event loop."""

    def __init__(self, settings: Settings, auth: Callable[[httpx.Request], httpx.Request], new_http: Callable[[], httpx.AsyncClient]) -> None:
        self.context = Context(settings, new_http)
        self._auth = auth

    async def __call__(self, call: Call[T]) -> Response[T]:
        core, http = self.context.current()
        event = _time.AsyncEvent()
        steps = core.steps(call, event.set)
        raw: RawResponse | None = None
        try:
            step = next(steps)
            while True:
                try:
                    raw = await self._do(step, http, event)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(raw)
        except StopIteration as end:
            response: Response[T] = end.value
            return response

    async def _do(self, step: Step, http: httpx.AsyncClient, event: _time.AsyncEvent) -> RawResponse | None:
        if isinstance(step, Pause):
            await event.wait(step.seconds)
            return None
        exchange = _Exchange(step)
        try:
            with anyio.fail_after(step.timeout):
                response = await http.send(
                    exchange.message(http, exchange.async_trace), auth=self._auth, stream=True, follow_redirects=False
                )
                try:
                    body = b"".join([part async for part in response.aiter_bytes()])
                finally:
                    await response.aclose()
                return RawResponse(response.status_code, response.headers, body)
        except TimeoutError as error:
            raise NoResponse("no response: the request timed out", sent=exchange.sent is not False) from error
        except (httpx.HTTPError, httpx.StreamError, OSError, anyio.BrokenResourceError) as error:
            raise exchange.no_response(error) from error


def _close(context: Context[httpx.Client]) -> None:
    if context.pid == os.getpid():
        context.http.close()


#: The request was not sent if one of these is raised.
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)


class _Exchange:
    """One request and its fate."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._ends = _time.now() + request.timeout
        self._timeouts = httpx.Timeout(request.timeout, connect=min(_CONNECT, request.timeout)).as_dict()
        self._connects_to = ""  # the service, or a proxy
        self.sent: bool | None = None  # whether httpx began to send it; None if it does not say

    def message(self, http: httpx.Client | httpx.AsyncClient, trace: Callable[..., object]) -> httpx.Request:
        request = self._request
        return http.build_request(
            request.method,
            request.url,
            headers=request.headers,
            content=request.body,
            extensions={"trace": trace, "timeout": self._timeouts},
        )

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Called before and after each step of the request. Each may take the time that is left."""
        left = max(self._ends - _time.now(), 0.001)
        self._timeouts.update(connect=min(_CONNECT, left), write=left, read=left)
        if event.endswith("connect_tcp.started"):
            self.sent = False
            host = str(info["host"])
            self._connects_to = f"[{host}]:{info['port']}" if ":" in host else f"{host}:{info['port']}"
        elif event.endswith("send_request_headers.started") and info["request"].method != b"CONNECT":
            self.sent = True

    async def async_trace(self, event: str, info: dict[str, Any]) -> None:
        self.trace(event, info)

    def in_time(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the parts of a body, until the request has taken too long."""
        for part in parts:
            if _time.now() > self._ends:
                raise httpx.ReadTimeout("the response took too long")
            yield part

    def no_response(self, error: Exception) -> NoResponse:
        tls = _tls_error(error)
        sent = self.sent if self.sent is not None else not isinstance(error, _NOT_SENT)
        if tls and not sent:
            # A restarting server may close the connection; other TLS errors are permanent.
            retry = isinstance(tls, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
            return NoResponse(f"{tls}; does the port speak TLS, with a certificate that this machine trusts?", sent=False, retry=retry)
        text = str(error) or type(error).__name__
        if sent:
            return NoResponse(f"no response: {text}", sent=True)
        to = address(self._request.url)
        if self._connects_to and self._connects_to != to:
            to += f" through the proxy {self._connects_to}"
        # Such as 407: the proxy wants a password.
        permanent = isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)) or (
            isinstance(error, httpx.ProxyError) and text.startswith("4")
        )
        return NoResponse(f"cannot connect to {to}: {text}", sent=False, retry=not permanent)


def address(url: str) -> str:
    """Returns host and port of a URL."""
    parts = httpx.URL(url)
    host = f"[{parts.host}]" if ":" in parts.host else parts.host
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


