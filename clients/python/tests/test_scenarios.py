"""Runs ../../scenarios.json, which ../../README.md describes, with both kinds of clients."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import ssl
import traceback
import unittest
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import mock

import httpx
from virtual import VirtualLoop, VirtualTime

import petcat
from petcat import APIError, AsyncPetcat, Category, ConnectionFailed, Petcat

Json = dict[str, Any]

TABLE: Json = json.loads((Path(__file__).parents[2] / "scenarios.json").read_text(encoding="utf-8"))
BEGIN = 946684800.0
KEY = "pck_test_key-of-the-tests"


class Server:
    """A transport that responds as a script says."""

    def __init__(self, time: VirtualTime, script: list[Json], latency: float, key: str) -> None:
        self.time, self.script, self.latency, self.key = time, script, latency, key
        self.came = 0
        self.last = time.at
        self.keys: dict[str, str] = {}
        self.wrong: list[str] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        entry, delay = self.receive(request)
        self.time.sleep(delay)
        return self.outcome(entry, Cut())

    async def respond_async(self, request: httpx.Request) -> httpx.Response:
        entry, delay = self.receive(request)
        await asyncio.sleep(delay)
        return self.outcome(entry, AsyncCut())

    def receive(self, request: httpx.Request) -> tuple[Json, float]:
        """Compares a request, and returns what to respond, and when."""
        n = self.came
        self.came += 1
        if n >= len(self.script):
            self.wrong.append(f"request {n + 1} is one too many")
            return {"fault": "no_tls"}, 0
        entry = self.script[n]
        for wrong in self.compare(request, entry.get("want", {})):
            self.wrong.append(f"request {n + 1}: {wrong}")
        self.last = self.time.at
        hang = cast(Any, request).extensions["timeout"]["read"]
        return entry, float(hang) if entry.get("fault") == "hang" else self.latency

    def outcome(self, entry: Json, cut: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
        if entry.get("fault") == "cut":
            return httpx.Response(200, stream=cut)
        if "fault" in entry:
            raise FAULTS[entry["fault"]]()
        response = entry["response"]
        headers: dict[str, str] = {**({"Content-Type": "application/json"} if "body" in response else {}), **response.get("headers", {})}
        body = json.dumps(response["body"]) if "body" in response else response.get("text", "")
        return httpx.Response(response["status"], headers=headers, content=body.encode())

    def compare(self, request: httpx.Request, want: Json) -> list[str]:
        headers = request.headers
        wrong: list[str] = []

        def expect(what: str, got: object, wanted: object) -> None:
            if got != wanted:
                wrong.append(f"{what} is {got!r}, want {wanted!r}")

        expect("authorization", headers.get("authorization"), "Bearer " + self.key)
        if "method" in want:
            expect("method", request.method, want["method"])
        if "url" in want:
            expect("url", split(str(request.url)), split(want["url"]))
        if "body" in want:
            expect("body", json.loads(request.content or b"null"), want["body"])
        for name, value in want.get("headers", {}).items():
            got = headers.get(name)
            if value is None or not value.startswith("~"):
                expect(name, got, value)
            elif not re.search(value[1:], got or ""):
                wrong.append(f"{name} is {got!r}, want {value}")
        if "idempotency" in want:
            key = headers.get("idempotency-key", "")
            label = want["idempotency"]
            expect("idempotency-key", key, self.keys.setdefault(label, key))
            if not re.fullmatch("[!-~]{16,255}", key) or any(other == key for at, other in self.keys.items() if at != label):
                wrong.append(f"the idempotency key of {label} is {key!r}, and there are {self.keys}")
        if "after" in want:
            since = self.time.at - self.last
            if not within(since, want["after"]):
                wrong.append(f"it came after {since}, want {want['after']}")
        return wrong


class Cut(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield b'[{"id":'
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


class AsyncCut(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in Cut():
            yield part


def tls_failure(reason: ssl.SSLError) -> httpx.ConnectError:
    error = httpx.ConnectError(str(reason))
    error.__cause__ = reason
    return error


FAULTS: dict[str, Callable[[], Exception]] = {
    "lost": lambda: httpx.RemoteProtocolError("server disconnected without sending a response"),
    "hang": lambda: httpx.ReadTimeout("timed out"),
    "refused": lambda: httpx.ConnectError("connection refused"),
    "untrusted": lambda: tls_failure(ssl.SSLCertVerificationError("self-signed certificate")),
    "no_tls": lambda: tls_failure(ssl.SSLError("wrong version number")),
}


def within(value: float, bounds: list[float]) -> bool:
    return bounds[0] - 0.001 <= value <= bounds[1] + 0.001


def split(url: str) -> tuple[str, list[str]]:
    address, _, query = url.partition("?")
    return address, sorted(query.split("&")) if query else []


def contains(got: object, want: object) -> bool:
    """Returns whether a result has the expected members."""
    if isinstance(want, dict):
        return all(contains(member(got, name), value) for name, value in cast(Json, want).items())
    if isinstance(want, list):
        elements = list(cast(list[object], got)) if isinstance(got, (list, tuple)) else [object()]
        return len(elements) == len(cast(list[object], want)) and all(map(contains, elements, cast(list[object], want)))
    return type(got) is type(want) and got == want or isinstance(want, int) and isinstance(got, float) and abs(got - want) < 0.001


def member(value: object, name: str) -> object:
    return cast(Any, value).get(name) if isinstance(value, (httpx.Headers, dict)) else getattr(value, name)


def make(client: Petcat | AsyncPetcat, call: Json) -> Any:
    """Makes a call and returns its result, or its coroutine or iterator."""
    arguments = {**call.get("args", {}), **call.get("options", {})}
    *group, name = call["call"].split(".")
    if name in ("update", "delete") and group == ["categories"]:
        object_ = arguments.pop("object", None)
        arguments["category"] = Category(object_["id"], "", etag=object_["etag"]) if object_ else arguments.pop("id")
    if name == "request" and "body" in arguments:
        arguments["json"] = arguments.pop("body")
    target: Any = getattr(getattr(client, group[0]) if group else client, name)
    if "raw" in call and group:
        return getattr(client.categories.with_raw, name)(**arguments)
    return target(**arguments)


#: The calls that return an iterator.
ITERATORS = (".all", ".changes")

M = TypeVar("M", petcat.Mirror, petcat.AsyncMirror)


def loaded(mirror: M, call: Json) -> M:
    """Returns a mirror after it has loaded the file of a call, if there is one."""
    if "file" in call.get("args", {}):
        mirror.load(json.dumps(call["args"]["file"]))
    return mirror


class Scenarios(unittest.TestCase):
    def check(self, scenario: Json, is_async: bool) -> None:
        time = VirtualTime(BEGIN)
        settings: Json = {"base_url": "http://petcat.test", "key": KEY, **scenario.get("client", {})}
        settings["api_key"] = key = settings.pop("key")
        server = Server(time, scenario.get("script", []), scenario.get("latency", 0), key)
        waits: list[petcat.Wait] = []
        retries: list[petcat.Retry] = []
        settings |= {"on_retry": retries.append, "on_wait": waits.append}
        chance = random.Random(scenario["name"])
        logged = self.enterContext_(self.assertLogs("petcat", logging.INFO)).output
        logging.getLogger("petcat").info("the test begins")
        with mock.patch.multiple(
            "petcat._time",
            wall=lambda: time.at,
            now=lambda: time.at - BEGIN,
            Event=time.event,
            jitter=lambda seconds: chance.uniform(0, seconds),  # type: ignore[no-untyped-def]
        ):
            kind: Any = AsyncPetcat if is_async else Petcat
            if "error" in scenario:
                with self.assertRaises(ValueError) as raised:
                    kind(**settings)
                if key:
                    self.assertNotIn(key, str(raised.exception))
                return
            if is_async:
                transport = httpx.MockTransport(cast(Any, server.respond_async))
                client = AsyncPetcat(http_client=lambda: httpx.AsyncClient(transport=transport), **settings)
                asyncio_run(VirtualLoop(time), self.calls_async(client, scenario["calls"], key))
            else:
                client = Petcat(http_client=lambda: httpx.Client(transport=httpx.MockTransport(server.respond)), **settings)
                self.calls(client, scenario["calls"], key, time)
        self.assertNotIn(key, repr(client) + repr(vars(client)) + "".join(logged))
        self.assertEqual(server.wrong, [])
        self.assertEqual(server.came, len(server.script), "requests")
        self.assertEqual(len(logged), 1 + len(waits) + len(retries), logged)
        if "limits" in scenario:
            self.assertTrue(contains(client.limits, scenario["limits"]), client.limits)
        if "waits" in scenario:
            told = [wait.seconds for wait in waits]
            self.assertEqual(len(told), len(scenario["waits"]), told)
            self.assertTrue(all(map(within, told, scenario["waits"])), told)

    def enterContext_(self, context: Any) -> Any:  # Python 3.11 has enterContext
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def calls(self, client: Petcat, calls: list[Json], key: str, time: VirtualTime) -> None:
        for call in calls:

            def one(call: Json = call) -> None:
                def result() -> object:
                    if call["call"] == "categories.mirror":
                        mirror = loaded(client.categories.mirror(), call)
                        return {"changed": mirror.refresh(), "file": json.loads(mirror.save())}
                    made = make(client, call)
                    return list(made) if call["call"].endswith(ITERATORS) else made

                self.expect(call, key, *outcome(result))

            time.run(*[one] * call.get("parallel", 1))

    async def calls_async(self, client: AsyncPetcat, calls: list[Json], key: str) -> None:
        for call in calls:

            async def one(call: Json = call) -> None:
                try:
                    value: object
                    if call["call"] == "categories.mirror":
                        mirror = loaded(client.categories.mirror(), call)
                        value = {"changed": await mirror.refresh(), "file": json.loads(mirror.save())}
                    else:
                        made = make(client, call)
                        value = [element async for element in made] if call["call"].endswith(ITERATORS) else await made
                except (ValueError, petcat.PetcatError) as error:
                    self.expect(call, key, None, error)
                else:
                    self.expect(call, key, value, None)

            await asyncio.gather(*(one() for _ in range(call.get("parallel", 1))))

    def expect(self, call: Json, key: str, result: object, error: Exception | None) -> None:
        if error:
            if "error" not in call:
                raise error
            self.check_error(error, call["error"])
            self.assertNotIn(key, "".join(traceback.format_exception(error)))
            return
        self.assertNotIn("error", call, f"it returned {result}")
        if call["call"] == "request" or "raw" in call:
            raw: Json = {**call.get("raw", {}), **({} if call["returns"] is None else {"value": call["returns"]})}
            self.assertTrue(contains(result, raw), f"{result}, want {raw}")
        elif "returns" in call:
            self.assertTrue(contains(result, call["returns"]), f"{result}, want {call['returns']}")

    def check_error(self, error: Exception, want: Json) -> None:
        kind = "argument" if isinstance(error, ValueError) else "api" if isinstance(error, APIError) else "connection"
        self.assertTrue(kind != "connection" or isinstance(error, ConnectionFailed), error)
        self.assertEqual(kind, want.get("kind", kind), error)
        for name, value in want.items():
            if name == "retry_after":
                assert isinstance(error, APIError) and error.retry_after is not None
                self.assertTrue(value[0] <= error.retry_after <= value[1], error.retry_after)
            elif name == "text":
                self.assertRegex(str(error), value)
            elif name == "headers":
                assert isinstance(error, APIError)
                self.assertTrue(contains(error.headers, value), error.headers)
            elif name != "kind":
                self.assertEqual(getattr(error, name), value, f"{name} of {error}")


def outcome(call: Callable[[], object]) -> tuple[object, Exception | None]:
    try:
        return call(), None
    except (ValueError, petcat.PetcatError) as error:
        return None, error


def asyncio_run(loop: VirtualLoop, work: Any) -> None:
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


def add(scenario: Json) -> None:
    for kind, is_async in (("", False), ("async: ", True)):
        name = f"test_{kind}{scenario['name']}"
        assert not hasattr(Scenarios, name)
        setattr(Scenarios, name, lambda self, is_async=is_async: self.check(scenario, is_async))  # type: ignore[no-untyped-def]


for each in TABLE["scenarios"]:
    add(each)
for number, row in enumerate(TABLE["retries"], 1):
    first = {name: row[name] for name in ("response", "fault") if name in row}
    what = row.get("fault") or row["response"]["status"]
    for operation in row.get("only", TABLE["operations"]):
        call: Json = dict(TABLE["operations"][operation])
        success = call.pop("success")
        if operation in row["repeated"]:
            add({"name": f"row {number}: {what}, {operation}: repeated", "script": [first, {"want": {"after": row["after"]}, "response": success}], "calls": [call]})
        else:
            add({"name": f"row {number}: {what}, {operation}: not repeated", "script": [first], "calls": [{**call, "error": {}}]})

if __name__ == "__main__":
    unittest.main()
