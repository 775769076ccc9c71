"""Tests of the real transport, and of features that only this client has."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import petcat
from petcat import Petcat, RawResponse, Request

KEY = "pck_test_key-of-the-tests"


class Service(BaseHTTPRequestHandler):
    """Responds differently to each path, and counts connections."""

    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self) -> None:
        super().setup()
        Service.connections += 1

    def do_GET(self) -> None:
        body, headers = b'[{"id": 1, "name": "dog"}]', {"Content-Type": "application/json"}
        if "gzip" in self.headers["Accept-Encoding"]:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        self.respond(200, headers, body)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name: str = sent["name"]
        if name == "redirect":
            self.respond(307, {"Location": "http://127.0.0.1:9/v1/categories"}, b"")
        elif name == "short":
            self.send_response(201)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'{"id": 1')
            self.close_connection = True
        elif name == "slow":
            self.server.leave.wait(30)  # type: ignore[attr-defined]
            self.close_connection = True
        else:
            self.respond(201, {"X-Request-Id": "R"}, json.dumps({"id": 2, "name": name}).encode())

    def respond(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


class Transport(unittest.TestCase):
    def setUp(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        self.server.leave = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.leave.set)  # type: ignore[attr-defined]
        self.port = self.server.server_address[1]
        self.enterContext_(mock.patch.dict(os.environ, {"PETCAT_API_KEY": KEY, "PETCAT_URL": f"http://127.0.0.1:{self.port}", "NO_PROXY": "*"}))
        self.client = Petcat(max_retries=0)
        self.addCleanup(self.client.close)

    def enterContext_(self, context: Any) -> None:  # Python 3.11 has enterContext
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_connections_are_reused(self) -> None:
        before = Service.connections
        for _ in range(5):
            self.assertEqual(self.client.categories.create("Füchse").name, "Füchse")
            self.assertEqual(self.client.categories.list(), [petcat.Category(1, "dog")])
        self.assertEqual(Service.connections - before, 1)

    def test_a_closed_idle_connection_is_not_reused(self) -> None:
        self.client.categories.list()
        transport: Any = self.client._transport  # type: ignore[reportPrivateUsage]
        transport._idle[0][0].sock.shutdown(socket.SHUT_RDWR)
        self.assertEqual(len(self.client.categories.list()), 1)

    def test_threads_share_a_client(self) -> None:
        made: list[petcat.Category] = []
        threads = [threading.Thread(target=lambda: made.append(self.client.categories.create("cat"))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(len(made), 20)

    def test_redirects_are_not_followed(self) -> None:
        with self.assertRaises(petcat.APIError) as raised:
            self.client.categories.create("redirect")
        self.assertEqual(raised.exception.status, 307)

    def test_truncated_response(self) -> None:
        with self.assertRaises(petcat.ConnectionFailed) as raised:
            self.client.categories.create("short")
        self.assertTrue(raised.exception.outcome_unknown)

    def test_timeout(self) -> None:
        with self.assertRaises(petcat.ConnectionFailed) as raised:
            self.client.categories.create("slow", timeout=0.05)
        self.assertTrue(raised.exception.outcome_unknown)

    def test_no_connection(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        client = Petcat(base_url=f"http://127.0.0.1:{port}", max_retries=0)
        with self.assertRaises(petcat.ConnectionFailed) as raised:
            client.categories.create("cat")
        self.assertFalse(raised.exception.outcome_unknown)

    def test_unreachable_proxy(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            proxy = f"http://user:secret@127.0.0.1:{closed.getsockname()[1]}"
        for scheme in ("http", "https"):
            with mock.patch.dict(os.environ, {scheme + "_proxy": proxy, "NO_PROXY": "", "no_proxy": ""}):
                client = Petcat(base_url=f"{scheme}://petcat.test", max_retries=0)
            with self.assertRaises(petcat.ConnectionFailed) as raised:
                client.categories.create("cat")
            self.assertFalse(raised.exception.outcome_unknown)

    def test_proxy(self) -> None:
        with mock.patch.dict(os.environ, {"http_proxy": f"http://127.0.0.1:{self.port}", "NO_PROXY": "", "no_proxy": ""}):
            client = Petcat(base_url="http://petcat.test", max_retries=0)
        self.addCleanup(client.close)
        self.assertEqual(len(client.categories.list()), 1)

    def test_https_to_a_port_without_tls(self) -> None:
        with self.assertRaises(petcat.ConnectionFailed) as raised:
            Petcat(base_url=f"https://127.0.0.1:{self.port}").categories.create("cat")
        self.assertIn("TLS", str(raised.exception))
        self.assertFalse(raised.exception.outcome_unknown)


class Client(unittest.TestCase):
    def test_errors_have_the_class_of_their_status(self) -> None:
        for status, kind in {
            400: petcat.InvalidRequest, 401: petcat.AuthenticationError, 403: petcat.Forbidden, 404: petcat.NotFound,
            409: petcat.Conflict, 412: petcat.Conflict, 418: petcat.APIError, 422: petcat.InvalidRequest, 429: petcat.RateLimited, 503: petcat.ServerError,
        }.items():  # fmt: skip
            body = json.dumps({"code": "some_code", "message": "no", "status": status}).encode()

            def answer(_: Request, status: int = status, body: bytes = body) -> RawResponse:
                return RawResponse(status, petcat.Headers([("x-request-id", "R")]), body)

            with self.assertRaises(petcat.APIError) as raised:
                Petcat(KEY, "http://petcat.test", max_retries=0, transport=answer).categories.list()
            self.assertIs(type(raised.exception), kind)
            self.assertEqual(str(raised.exception), f"{status} some_code: no (request R)")

    def test_on_retry_gets_each_retry(self) -> None:
        answers = iter([503, 200])
        retries: list[petcat.Retry] = []

        def answer(_: Request) -> RawResponse:
            return RawResponse(next(answers), petcat.Headers(), b"[]")

        with mock.patch("petcat._time.sleep"):
            Petcat(KEY, "http://petcat.test", transport=answer, on_retry=retries.append).categories.list()
        self.assertEqual([(retry.attempt, getattr(retry.error, "status", 0)) for retry in retries], [(1, 503)])
        self.assertTrue(0.25 <= retries[0].delay <= 0.5)

    def test_invalid_arguments_are_rejected_before_a_request(self) -> None:
        client: Any = Petcat(KEY, "http://petcat.test", transport=mock.Mock(side_effect=AssertionError))
        for wrong in (
            lambda: client.categories.get("1/../../usage"),
            lambda: client.categories.get(0),
            lambda: client.categories.get(True),
            lambda: client.categories.update(1, name="cat", if_match=petcat.Category(1, "of a list").etag),
            lambda: client.categories.create("cat", idempotency_key=""),
            lambda: client.categories.create("cat", idempotency_key="a" * 256),
        ):
            self.assertRaises(ValueError, wrong)
        self.assertRaises(TypeError, lambda: client.categories.list(time_out=1))

    def test_a_failed_transport_leaves_the_gate_open(self) -> None:
        client = Petcat(KEY, "http://petcat.test", transport=mock.Mock(side_effect=[KeyError("a bug"), RawResponse(200, petcat.Headers(), b"[]")]))
        self.assertRaises(KeyError, client.categories.list)
        self.assertEqual(client.categories.list(), [])


if __name__ == "__main__":
    unittest.main()
