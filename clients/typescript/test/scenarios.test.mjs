// Runs ../../scenarios.json, which ../../README.md describes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import { APIError, ConnectionError, Petcat, PetcatError } from "petcat";
import { VirtualTime } from "./virtual.mjs";

const table = JSON.parse(readFileSync(new URL("../../scenarios.json", import.meta.url), "utf8"));
const begin = 946684800_000;

// A fetch that responds as a script says.
class Server {
  came = 0;
  wrong = [];
  #keys = new Map();

  constructor(time, script, latency, key) {
    Object.assign(this, { time, script, latency, key, last: time.at });
  }

  fetch = async (url, init) => {
    const n = this.came++;
    const entry = this.script[n];
    if (!entry) {
      this.wrong.push(`request ${n + 1} is unexpected`);
      throw failure("ERR_SSL_WRONG_VERSION_NUMBER");
    }
    for (const wrong of this.#compare(url, init, entry.want ?? {})) this.wrong.push(`request ${n + 1}: ${wrong}`);
    this.last = this.time.at;
    if (entry.fault === "hang") {
      await new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
    }
    await this.time.sleep(this.latency * 1000);
    if (entry.fault) return faults[entry.fault]();
    const { status, headers, body, text = "" } = entry.response;
    const all = { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers };
    return new Response([204, 304].includes(status) ? null : body === undefined ? text : JSON.stringify(body), { status, headers: all });
  };

  #compare(url, init, want) {
    const wrong = [];
    const expect = (what, got, wanted) => {
      if (!equal(got, wanted)) wrong.push(`${what} is ${inspect(got)}, want ${inspect(wanted)}`);
    };
    expect("authorization", init.headers.get("authorization"), `Bearer ${this.key}`);
    expect("redirect", init.redirect, "manual");
    if (want.method) expect("method", init.method, want.method);
    if (want.url) expect("url", split(url), split(want.url));
    if (want.body) expect("body", JSON.parse(init.body), want.body);
    for (const [name, value] of Object.entries(want.headers ?? {})) {
      const got = init.headers.get(name);
      if (!value?.startsWith("~")) expect(name, got, value);
      else if (!new RegExp(value.slice(1)).test(got)) wrong.push(`${name} is ${got}, want ${value}`);
    }
    if (want.idempotency) {
      const key = init.headers.get("idempotency-key") ?? "";
      const known = this.#keys.get(want.idempotency);
      if (!/^[!-~]{16,255}$/.test(key) || (known ?? key) !== key || (!known && [...this.#keys.values()].includes(key))) {
        wrong.push(`the idempotency key of ${want.idempotency} is ${key}, and there are ${inspect(this.#keys)}`);
      }
      this.#keys.set(want.idempotency, key);
    }
    if (want.after) {
      const since = (this.time.at - this.last) / 1000;
      if (since < want.after[0] - 0.001 || since > want.after[1] + 0.001) wrong.push(`it came after ${since}, want ${want.after}`);
    }
    return wrong;
  }
}

// The errors of fetch in Node.js.
const failure = (code) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
const reject = (code) => () => Promise.reject(failure(code));
const faults = {
  lost: reject("UND_ERR_SOCKET"),
  refused: reject("ECONNREFUSED"),
  untrusted: reject("DEPTH_ZERO_SELF_SIGNED_CERT"),
  no_tls: reject("ERR_SSL_WRONG_VERSION_NUMBER"),
  cut: () => {
    let begun = false;
    const pull = (stream) => {
      if (begun) return stream.error(failure("UND_ERR_SOCKET"));
      begun = true;
      stream.enqueue(new TextEncoder().encode('[{"id":'));
    };
    return new Response(new ReadableStream({ pull }), { status: 200 });
  },
};

const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const split = (url) => [url.split("?")[0], (url.split("?")[1] ?? "").split("&").sort()];

// Reports whether a result has the expected members. Expected times are in seconds.
function contains(got, want) {
  if (Array.isArray(want)) return Array.isArray(got) && got.length === want.length && want.every((element, i) => contains(got[i], element));
  if (want !== null && typeof want === "object") return Object.entries(want).every(([name, value]) => contains(member(got, name), value));
  if (got instanceof Date) return Math.abs(got / 1000 - want) < 0.001;
  return want === null ? (got ?? null) === null : got === want;
}

function member(of, name) {
  if (of instanceof Headers) return of.get(name);
  if (name === "length") return of.lengthMs / 1000;
  if (of instanceof Error && name === "message") return of.detail;
  if (name === "replayed") return of.replayed ?? false;
  return of[{ request_id: "requestId" }[name] ?? name];
}

const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const camels = (options) => Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value]));

// Makes a call and returns its result.
async function make(petcat, { call, args = {}, options: given, raw }) {
  const options = given && camels(given);
  const [name, group] = call.split(".").reverse();
  const operations = raw && group ? petcat[group].raw : petcat[group];
  switch (name) {
    case "usage_history":
      return petcat.usageHistory({ ...args, ...options });
    case "usage":
      return petcat.usage(options);
    case "all":
      return Array.fromAsync ? Array.fromAsync(operations.all(camels(args))) : collect(operations.all(camels(args)));
    case "list":
      return operations.list({ ...args, ...options });
    case "changes":
      return collect(operations.changes({ ...camels(args), ...options }));
    case "mirror":
      return refreshed(operations.mirror(), args.file, options);
    case "rotate":
      return operations.rotate({ ...args, ...options });
    case "create":
      return operations.create(args, options);
    case "update": {
      const { id, object, ...change } = args;
      return operations.update(object ?? id, change, options);
    }
    case "request": {
      const { method, path, ...rest } = args;
      return petcat.request(method, path, { ...rest, ...options });
    }
    default:
      return operations[camel(name)](...Object.values(args), options);
  }
}

async function refreshed(mirror, file, options) {
  if (file) mirror.load(JSON.stringify(file));
  const changed = await mirror.refresh(options);
  return { changed, file: JSON.parse(mirror.save()) };
}

async function collect(all) {
  const list = [];
  for await (const element of all) list.push(element);
  return list;
}

async function check({ client = {}, script = [], calls, latency = 0, limits, waits, error }) {
  const { key = "pck_test_key-of-the-tests", base_url = "http://petcat.test", ...settings } = client;
  const time = new VirtualTime(begin);
  const server = new Server(time, script, latency, key);
  const reported = [];
  const options = { apiKey: key, baseUrl: base_url, fetch: server.fetch, onWait: (wait) => reported.push(wait.delayMs / 1000) };
  for (const [name, value] of Object.entries(settings)) {
    if (name === "max_wait" || name === "timeout") options[`${camel(name)}Ms`] = value * 1000;
    else options[camel(name)] = value;
  }
  if (error) {
    assert.throws(() => new Petcat(options), (thrown) => thrown instanceof TypeError && (key === "" || !thrown.message.includes(key)));
    return;
  }
  const petcat = new Petcat(options);
  assert(!inspect(petcat, { depth: 9, showHidden: true }).includes(key));
  await time.run(async () => {
    for (const call of calls) await Promise.all(Array.from({ length: call.parallel ?? 1 }, () => one(petcat, call, key)));
  });
  assert.deepEqual(server.wrong, []);
  assert.equal(server.came, script.length, "requests");
  if (waits) {
    const matches = reported.length === waits.length && waits.every(([least, most], i) => reported[i] >= least - 0.001 && reported[i] <= most + 0.001);
    assert(matches, `the waits are ${reported}, want ${inspect(waits)}`);
  }
  if (limits) assert(contains(petcat.limits, limits), inspect(petcat.limits, { depth: 3 }));
}

async function one(petcat, call, key) {
  let result;
  try {
    result = await make(petcat, call);
  } catch (error) {
    if (!call.error || error instanceof assert.AssertionError) throw error;
    assert(!inspect(error, { depth: 9 }).includes(key));
    return checkError(error, call.error);
  }
  assert(!call.error, `it returned ${inspect(result)}`);
  const want = call.raw || call.call === "request" ? { ...call.raw, ...(call.returns !== null && { value: call.returns }) } : call.returns;
  if (want !== undefined) assert(contains(result, want), `${inspect(result)}, want ${inspect(want)}`);
}

function checkError(error, { kind, retry_after, text, headers, ...want }) {
  const actual = error instanceof APIError ? "api" : error instanceof ConnectionError ? "connection" : error instanceof TypeError ? "argument" : error;
  assert.equal(actual, kind ?? actual, inspect(error));
  assert(actual === "argument" || error instanceof PetcatError);
  if (text) assert.match(error.message, new RegExp(text));
  if (headers) assert(contains(error.headers, headers), inspect(error.headers));
  if (retry_after) assert(error.retryAfterMs >= retry_after[0] * 1000 && error.retryAfterMs <= retry_after[1] * 1000, inspect(error));
  for (const [name, value] of Object.entries(want)) assert.equal(member(error, camel(name)), value, `${name} of ${inspect(error)}`);
}

for (const scenario of table.scenarios) test(scenario.name, () => check(scenario));

for (const [i, { repeated, after, only, ...first }] of table.retries.entries()) {
  for (const operation of only ?? Object.keys(table.operations)) {
    const { success, ...call } = table.operations[operation];
    const again = repeated.includes(operation);
    test(`row ${i + 1}: ${first.fault ?? first.response.status}, ${operation}: ${again ? "repeated" : "not repeated"}`, () =>
      check(again ? { script: [first, { want: { after }, response: success }], calls: [call] } : { script: [first], calls: [{ ...call, error: {} }] }),
    );
  }
}
