"""Runs ../../scenarios.json, which ../../README.md describes."""

from __future__ import annotations

import json
import random
import re
import traceback
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from unittest import mock

from virtual import VirtualTime

import petcat
from petcat import APIError, ConnectionFailed, Headers, NotSent, Petcat, RawResponse, Request, Retry

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

    def __call__(self, request: Request) -> RawResponse:
        n = self.came
        self.came += 1
        if n >= len(self.script):
            self.wrong.append(f"request {n + 1} is one too many")
            raise NotSent("the script has ended", retry=False)
        entry = self.script[n]
        for wrong in self.compare(request, entry.get("want", {})):
            self.wrong.append(f"request {n + 1}: {wrong}")
        self.last = self.time.at
        self.time.sleep(request.timeout if entry.get("fault") == "hang" else self.latency)
        if "fault" in entry:
            raise FAULTS[entry["fault"]]()
        answer = entry["answer"]
        headers: dict[str, str] = {**({"Content-Type": "application/json"} if "body" in answer else {}), **answer.get("headers", {})}
        body = json.dumps(answer["body"]) if "body" in answer else answer.get("text", "")
        return RawResponse(answer["status"], Headers(headers.items()), body.encode())

    def compare(self, request: Request, want: Json) -> list[str]:
        headers = {name.lower(): value for name, value in request.headers.items()}
        wrong: list[str] = []

        def expect(what: str, got: object, wanted: object) -> None:
            if got != wanted:
                wrong.append(f"{what} is {got!r}, want {wanted!r}")

        expect("authorization", headers.get("authorization"), "Bearer " + self.key)
        if "method" in want:
            expect("method", request.method, want["method"])
        if "url" in want:
            expect("url", split(request.url), split(want["url"]))
        if "body" in want:
            expect("body", json.loads(request.body or b"null"), want["body"])
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
            least, most = want["after"]
            since = self.time.at - self.last
            if not least - 0.001 <= since <= most + 0.001:
                wrong.append(f"it came after {since}, want {want['after']}")
        return wrong


FAULTS: dict[str, Callable[[], Exception]] = {
    "lost": lambda: ConnectionResetError("connection reset by peer"),
    "cut": lambda: ConnectionResetError("connection reset by peer"),
    "hang": lambda: TimeoutError("timed out"),
    "refused": lambda: NotSent("connection refused"),
    "untrusted": lambda: NotSent("the certificate is not trusted", retry=False),
    "no_tls": lambda: NotSent("the port does not speak TLS", retry=False),
}


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
    return value.get(name) if isinstance(value, Headers) else getattr(value, name)


def make(client: Petcat, call: Json) -> object:
    """Makes a call and returns its result."""
    arguments = {**call.get("args", {}), **call.get("options", {})}
    *group, name = call["call"].split(".")
    target: Any = getattr(getattr(client, group[0]) if group else client, name)
    if name == "all":
        return list(cast("list[object]", target(**arguments)))
    if "raw" in call:
        return getattr(client.categories.with_raw, name)(**arguments)
    return target(**arguments)


class Scenarios(unittest.TestCase):
    def check(self, scenario: Json) -> None:
        time = VirtualTime(BEGIN)
        settings: Json = {"base_url": "http://petcat.test", "key": KEY, **scenario.get("client", {})}
        key = settings.pop("key")
        server = Server(time, scenario.get("script", []), scenario.get("latency", 0), key)
        retries: list[Retry] = []
        chance = random.Random(scenario["name"])
        with mock.patch.multiple(
            "petcat._time",
            wall=lambda: time.at,
            now=lambda: time.at - BEGIN,
            sleep=time.sleep,
            Condition=time.condition,
            jitter=lambda seconds: chance.uniform(0, seconds),  # type: ignore[no-untyped-def]
        ):
            if "error" in scenario:
                with self.assertRaises(ValueError) as raised:
                    Petcat(api_key=key, transport=server, **settings)
                if key:
                    self.assertNotIn(key, str(raised.exception))
                return
            client = Petcat(api_key=key, transport=server, on_retry=retries.append, **settings)
            self.assertNotIn(key, repr(client) + repr(vars(client)))
            for call in scenario["calls"]:

                def one(call: Json = call) -> None:
                    self.one(client, call, key)

                time.run(*[one] * call.get("parallel", 1))
        self.assertEqual(server.wrong, [])
        self.assertEqual(server.came, len(server.script), "requests")
        if "limits" in scenario:
            self.assertTrue(contains(client.limits, scenario["limits"]), client.limits)

    def one(self, client: Petcat, call: Json, key: str) -> None:
        try:
            result = make(client, call)
        except (ValueError, petcat.PetcatError) as error:
            if "error" not in call:
                raise
            self.check_error(error, call["error"])
            self.assertNotIn(key, "".join(traceback.format_exception(error)))
            return
        self.assertNotIn("error", call, f"it returned {result}")
        if "raw" in call:
            raw: Json = {**call["raw"], **({} if call["returns"] is None else {"value": call["returns"]})}
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
            elif name != "kind":
                self.assertEqual(getattr(error, name), value, f"{name} of {error}")


def add(scenario: Json) -> None:
    name = "test_" + scenario["name"]
    assert not hasattr(Scenarios, name)
    setattr(Scenarios, name, lambda self: self.check(scenario))  # type: ignore[no-untyped-def]


for each in TABLE["scenarios"]:
    add(each)
for number, row in enumerate(TABLE["retries"], 1):
    first = {name: row[name] for name in ("answer", "fault") if name in row}
    what = row.get("fault") or row["answer"]["status"]
    for operation in row.get("only", TABLE["operations"]):
        call: Json = dict(TABLE["operations"][operation])
        success = call.pop("success")
        if operation in row["repeated"]:
            add({"name": f"row {number}: {what}, {operation}: repeated", "script": [first, {"want": {"after": row["after"]}, "answer": success}], "calls": [call]})
        else:
            add({"name": f"row {number}: {what}, {operation}: not repeated", "script": [first], "calls": [{**call, "error": {}}]})

if __name__ == "__main__":
    unittest.main()
