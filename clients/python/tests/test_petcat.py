"""Tests with real connections, and of features that only this client has."""

from __future__ import annotations

import asyncio
import copy
import gzip
import inspect
import json
import os
import pickle
import socket
import threading
import typing
import unittest
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import httpx

import petcat
from petcat import AsyncPetcat, Petcat

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
        if name == "hint":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
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

    def test_an_informational_response_is_not_the_response(self) -> None:
        self.assertEqual(self.client.categories.create("hint").name, "hint")
        self.assertEqual(len(self.client.categories.list()), 1)

    def test_async(self) -> None:
        async def calls() -> None:
            async with AsyncPetcat(max_retries=0) as client:
                self.assertEqual((await client.categories.create("hint")).name, "hint")
                self.assertEqual(len(await asyncio.gather(*(client.categories.list() for _ in range(20)))), 20)
                for name, timeout in (("short", 30), ("slow", 0.05)):
                    with self.assertRaises(petcat.ConnectionFailed) as raised:
                        await client.categories.create(name, timeout=timeout)
                    self.assertTrue(raised.exception.outcome_unknown)

        asyncio.run(calls())

    def test_a_forked_process_has_its_own_connections(self) -> None:
        before = Service.connections
        self.client.categories.list()
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if self.client.categories.create("child").name == "child" else 1)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.client.categories.list()
        self.assertEqual(Service.connections - before, 2)

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

        async def create() -> None:
            async with AsyncPetcat(base_url=f"http://127.0.0.1:{port}", max_retries=0) as client:
                await client.categories.create("cat")

        for call in (
            lambda: Petcat(base_url=f"http://127.0.0.1:{port}", max_retries=0).categories.create("cat"),
            lambda: asyncio.run(create()),
        ):
            with self.assertRaises(petcat.ConnectionFailed) as raised:
                call()
            self.assertIn(f"cannot connect to 127.0.0.1:{port}: ", str(raised.exception))
            self.assertFalse(raised.exception.outcome_unknown)

    def test_unreachable_proxy(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        for scheme in ("http", "https"):
            with mock.patch.dict(os.environ, {scheme + "_proxy": f"http://user:secret@127.0.0.1:{port}", "NO_PROXY": "", "no_proxy": ""}):
                client = Petcat(base_url=f"{scheme}://petcat.test", max_retries=0)
            with self.assertRaises(petcat.ConnectionFailed) as raised:
                client.categories.create("cat")
            self.assertRegex(str(raised.exception), rf"petcat\.test:\d+ through the proxy 127\.0\.0\.1:{port}: ")
            self.assertNotIn("secret", str(raised.exception))
            self.assertFalse(raised.exception.outcome_unknown)

    def test_proxy(self) -> None:
        with mock.patch.dict(os.environ, {"http_proxy": f"http://127.0.0.1:{self.port}", "NO_PROXY": "", "no_proxy": ""}):
            client = Petcat(base_url="http://petcat.test", max_retries=0)
        self.addCleanup(client.close)
        self.assertEqual(len(client.categories.list()), 1)

    def test_https_to_a_port_without_tls(self) -> None:
        async def create() -> None:
            async with AsyncPetcat(base_url=f"https://127.0.0.1:{self.port}") as client:
                await client.categories.create("cat")

        for call in (lambda: Petcat(base_url=f"https://127.0.0.1:{self.port}").categories.create("cat"), lambda: asyncio.run(create())):
            with self.assertRaises(petcat.ConnectionFailed) as raised:
                call()
            self.assertIn("TLS", str(raised.exception))
            self.assertFalse(raised.exception.outcome_unknown)


class Client(unittest.TestCase):
    def test_errors_have_the_class_of_their_status(self) -> None:
        for status, kind in {
            400: petcat.InvalidRequest, 401: petcat.AuthenticationError, 403: petcat.Forbidden, 404: petcat.NotFound,
            409: petcat.Conflict, 412: petcat.Conflict, 418: petcat.APIError, 422: petcat.InvalidRequest, 429: petcat.RateLimited, 503: petcat.ServerError,
        }.items():  # fmt: skip
            body = json.dumps({"code": "some_code", "message": "no", "status": status}).encode()

            headers = {"x-request-id": "R", "x-error-field": "name"}
            client = client_of(lambda _, status=status, body=body: httpx.Response(status, headers=headers, content=body), max_retries=0)  # type: ignore[misc]
            with self.assertRaises(petcat.APIError) as raised:
                client.categories.list()
            self.assertIs(type(raised.exception), kind)
            self.assertEqual((raised.exception.field, raised.exception.headers["X-Error-Field"]), ("name", "name"))
            self.assertEqual(str(raised.exception), f"{status} some_code: no (request R)")

    def test_errors_cross_processes(self) -> None:
        wrong = petcat.NotFound(404, "not_found", "no", "R", 3.0, headers=httpx.Headers({"X-Error-Field": "name"}))
        lost = petcat.ConnectionFailed("no response")
        for error in (wrong, lost):
            error.outcome_unknown = True
            same: petcat.PetcatError
            for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                self.assertIs(same.__class__, error.__class__)
                self.assertEqual((str(same), vars(same)), (str(error), vars(error)))

    def test_the_deadline_ends_a_call(self) -> None:
        client = client_of(mock.Mock(return_value=httpx.Response(503, headers={"Retry-After": "60"})))
        for call in (lambda: client.categories.list(deadline=30), lambda: client.categories.list(deadline=30, max_retries=3)):
            with self.assertRaises(petcat.ServerError):
                call()

    def test_the_timeout_ends_a_response_that_comes_in_small_parts(self) -> None:
        at = 0

        class Body(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                nonlocal at
                for part in (b"[", b" ", b"]"):
                    at += 20
                    yield part

        def respond(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Body())

        client = client_of(respond, max_retries=0)
        with mock.patch("petcat._time.now", lambda: at):
            self.assertEqual(client.categories.list(timeout=61), [])
            with self.assertRaisesRegex(petcat.ConnectionFailed, "took too long"):
                client.categories.list(timeout=30)

    def test_both_kinds_have_the_same_operations(self) -> None:
        for name in ("Petcat", "Categories", "CategoriesWithRaw", "Pets", "Orders"):
            threads: type = getattr(inspect.getmodule(Petcat), name)
            tasks: type = getattr(inspect.getmodule(AsyncPetcat), "Async" + name)
            members = {member for member in vars(threads) if not member.startswith("_")}
            self.assertEqual(members, {member for member in vars(tasks) if not member.startswith("_")})
            for member in members - {"limits", "close"}:
                one, other = getattr(threads, member), getattr(tasks, member)
                self.assertEqual(one.__doc__, other.__doc__)
                self.assertEqual(inspect.signature(one).parameters, inspect.signature(other).parameters)
                typing.get_type_hints(one)
                typing.get_type_hints(other)

    def test_invalid_arguments_are_rejected_before_a_request(self) -> None:
        client: Any = client_of(mock.Mock(side_effect=AssertionError))
        for wrong in (
            lambda: client.categories.get("1/../../usage"),
            lambda: client.categories.get(0),
            lambda: client.categories.get(True),
            lambda: client.categories.update(1, name="cat", if_match=petcat.Category(1, "of a list").etag),
            lambda: client.categories.update(petcat.Category(1, "of a list"), name="cat"),
            lambda: client.categories.create("cat", idempotency_key=""),
            lambda: client.categories.create("cat", idempotency_key="a" * 256),
            lambda: client.categories.list(headers={"no header": "x"}),
            lambda: client.categories.list(timeout=0),
            lambda: client.categories.list(deadline=0),
            lambda: client.categories.list(timeout="30"),
            lambda: client.request("GET", "categories"),
            lambda: client.request("GET", "/categories?limit=1"),
        ):
            self.assertRaises(ValueError, wrong)
        self.assertRaises(TypeError, lambda: client.categories.list(time_out=1))

    def test_a_failed_transport_leaves_the_gate_open(self) -> None:
        client = client_of(mock.Mock(side_effect=[KeyError("a bug"), httpx.Response(200, content=b"[]")]))
        self.assertRaises(KeyError, client.categories.list)
        self.assertEqual(client.categories.list(), [])


def client_of(respond: Any, **options: Any) -> Petcat:
    """Returns a client whose requests a function handles."""
    return Petcat(KEY, "http://petcat.test", http_client=lambda: httpx.Client(transport=httpx.MockTransport(respond)), **options)


if __name__ == "__main__":
    unittest.main()
