"""The default transport: the standard library's HTTP, with persistent connections."""

from __future__ import annotations

import base64
import gzip
import http.client
import selectors
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field


class Headers(Mapping[str, str]):
    """Headers of a response. Names are case-insensitive."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields: dict[str, str] = {}
        for name, value in fields:
            name = name.lower()
            self._fields[name] = f"{self._fields[name]}, {value}" if name in self._fields else value

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


@dataclass(frozen=True)
class Request:
    """A request for a transport."""

    method: str
    url: str
    headers: dict[str, str] = field(repr=False)  # contains the key
    body: bytes | None
    timeout: float  # seconds, for the whole response


@dataclass(frozen=True)
class RawResponse:
    """A response of a transport, with any status."""

    status: int
    headers: Headers
    body: bytes


class NotSent(Exception):
    """A transport raises NotSent, from its cause, if it sent nothing of a request. ``retry`` is
    whether a retry may succeed. If the service may have read the request, a transport raises
    an OSError or an http.client.HTTPException instead."""

    def __init__(self, message: str, retry: bool = True) -> None:
        super().__init__(message)
        self.retry = retry


#: A function that sends a request. It must not follow redirects.
Transport = Callable[[Request], RawResponse]

#: How long an idle connection is reused, in seconds: the service closes it after 60.
_IDLE = 45.0


class HTTPTransport:
    """Sends the requests of one client, from any number of threads."""

    def __init__(self, base_url: str) -> None:
        base = urllib.parse.urlsplit(base_url)
        self._https = base.scheme == "https"
        self._host = base.hostname or ""
        self._port = base.port or (443 if self._https else 80)
        self._tls = ssl.create_default_context() if self._https else None
        self._proxy: urllib.parse.SplitResult | None = None
        proxy = urllib.request.getproxies().get(base.scheme)
        if proxy and not urllib.request.proxy_bypass(self._host):
            self._proxy = urllib.parse.urlsplit(proxy if "://" in proxy else "http://" + proxy)
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def __call__(self, request: Request) -> RawResponse:
        deadline = time.monotonic() + request.timeout
        connection = self._connect(request.timeout)
        try:
            result, reusable = self._exchange(connection, request, deadline)
        except BaseException:
            connection.close()
            raise
        if reusable:
            with self._lock:
                self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
        return result

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection, since = self._idle.pop()
            if time.monotonic() - since < _IDLE and not _readable(connection.sock):
                return connection
            connection.close()
        connection = self._new(timeout)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _not_sent(error) from error
        return connection

    def _new(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._host, self._port
        if self._proxy:
            host, port = self._proxy.hostname or "", self._proxy.port or 80
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)
        if self._proxy:
            connection.set_tunnel(self._host, self._port, self._proxy_headers())
        return connection

    def _proxy_headers(self) -> dict[str, str]:
        if not self._proxy or self._proxy.username is None:
            return {}
        user = f"{urllib.parse.unquote(self._proxy.username)}:{urllib.parse.unquote(self._proxy.password or '')}"
        return {"Proxy-Authorization": "Basic " + base64.b64encode(user.encode()).decode()}

    def _exchange(self, connection: http.client.HTTPConnection, request: Request, deadline: float) -> tuple[RawResponse, bool]:
        target = request.url[request.url.index("/", len("https://")) :]
        headers = {**request.headers, "Accept-Encoding": "gzip"}
        if self._proxy and not self._https:
            target = request.url
            headers.update(self._proxy_headers())
        link: socket.socket = connection.sock
        link.settimeout(_left(deadline))
        connection.request(request.method, target, request.body, headers)
        link.settimeout(_left(deadline))
        parts: list[bytes] = []
        with connection.getresponse() as response:
            while part := response.read1(1 << 16):
                parts.append(part)
                link.settimeout(_left(deadline))
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        result = RawResponse(response.status, Headers(response.getheaders()), b"".join(parts))
        if result.headers.get("Content-Encoding") == "gzip" and result.body:
            try:
                result = RawResponse(result.status, result.headers, gzip.decompress(result.body))
            except (EOFError, zlib.error) as error:
                raise http.client.HTTPException("the response is not valid gzip") from error
        return result, not response.will_close


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the response took too long")
    return left


def _readable(link: socket.socket) -> bool:
    """Returns whether an idle connection has something to read: the server closed it."""
    with selectors.DefaultSelector() as selector:
        selector.register(link, selectors.EVENT_READ)
        return bool(selector.select(0))


def _not_sent(error: Exception) -> NotSent:
    # A restarting server may close the connection; other TLS errors are permanent.
    if isinstance(error, ssl.SSLError) and not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return NotSent(f"{error}; does the port speak TLS, with a certificate that this machine trusts?", retry=False)
    return NotSent(f"cannot connect to the service: {error}")
