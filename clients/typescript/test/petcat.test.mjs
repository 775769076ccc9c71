// Tests of the real fetch, and of features that only this client has.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { AbortError, APIError, ConnectionError, Petcat, PetcatError, version } from "petcat";

const here = (path) => new URL(path, import.meta.url);
const apiKey = "pck_test_key-of-the-tests";
let server;
let baseUrl;

before(async () => {
  server = createServer(async (request, response) => {
    const sent = request.method === "POST" ? JSON.parse(await text(request)) : {};
    switch (sent.name) {
      case "redirect":
        return response.writeHead(307, { Location: "http://127.0.0.1:9/v1/categories" }).end();
      case "short":
        response.writeHead(201, { "Content-Length": 100 });
        return response.write('{"id": 1', () => request.socket.destroy());
      case "silent":
        return undefined;
      default:
        return response.writeHead(request.method === "POST" ? 201 : 200).end(request.method === "POST" ? JSON.stringify({ id: 2, ...sent }) : "[]");
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const petcat = (options) => new Petcat({ apiKey, baseUrl, maxRetries: 0, ...options });

// Returns the error of a create, which must fail without a response.
async function failure(options, name, call) {
  try {
    await petcat(options).categories.create({ name }, call);
  } catch (error) {
    assert(error instanceof ConnectionError, error);
    return error;
  }
  return assert.fail("it succeeded");
}

test("a create and a list with the real fetch", async () => {
  assert.equal((await petcat().categories.create({ name: "Füchse" })).name, "Füchse");
  assert.deepEqual(await petcat().categories.list(), []);
});

test("a redirect is not followed", async () => {
  await assert.rejects(petcat().categories.create({ name: "redirect" }), (error) => error instanceof APIError && error.status === 307);
});

test("truncated response", async () => {
  assert.equal((await failure({}, "short")).outcomeUnknown, true);
});

test("timeout", async () => {
  assert.equal((await failure({}, "silent", { timeoutMs: 50 })).outcomeUnknown, true);
});

test("no connection", async () => {
  const closed = createServer();
  await new Promise((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address();
  await new Promise((resolve) => closed.close(resolve));
  const error = await failure({ baseUrl: `http://127.0.0.1:${port}` }, "x");
  assert.equal(error.outcomeUnknown, false);
  assert.match(error.message, new RegExp(`cannot connect to 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`));
});

test("https to a port without TLS", async () => {
  const error = await failure({ baseUrl: baseUrl.replace("http:", "https:"), maxRetries: 8 }, "x");
  assert.match(error.message, /TLS/);
  assert.equal(error.outcomeUnknown, false);
});

test("an aborted signal ends a call before, during and after its request", async () => {
  const reason = new Error("enough");
  const during = new AbortController();
  const waiting = new AbortController();
  const queued = new AbortController();
  const exhausted = () => new Response("{}", { status: 429, headers: { "Retry-After": "100" } });
  for (const [options, name, signal] of [
    [{}, "x", AbortSignal.abort(reason)],
    [{ fetch: (url, init) => (setImmediate(() => during.abort(reason)), fetch(url, init)) }, "silent", during.signal],
    [{ maxRetries: 8, onRetry: () => setImmediate(() => waiting.abort(reason)), fetch: async () => new Response("", { status: 503 }) }, "x", waiting.signal],
    [{ maxRetries: 8, onRetry: () => setImmediate(() => queued.abort(reason)), fetch: async () => exhausted() }, "x", queued.signal],
  ]) {
    const error = await failure(options, name, { signal });
    assert(error instanceof AbortError && error.name === "AbortError" && error.cause === reason, error);
  }
});

test("a signal that aborts in the same tick sends no request", async () => {
  const end = new AbortController();
  let sent = 0;
  const call = petcat({ fetch: async () => (sent++, new Response("[]")) }).categories.create({ name: "x" }, { signal: end.signal });
  end.abort();
  await assert.rejects(call, (error) => error instanceof AbortError && !error.outcomeUnknown);
  assert.equal(sent, 0);
});

test("calls share one listener of a signal", async () => {
  const end = new AbortController();
  let listeners = 0;
  const add = end.signal.addEventListener.bind(end.signal);
  end.signal.addEventListener = (...given) => (listeners++, add(...given));
  const all = Array.from({ length: 20 }, () => petcat().categories.list({ signal: end.signal }));
  await Promise.all(all);
  assert.equal(listeners, 1);
});

test("a fetch that must not be called as a method", async () => {
  const fetch = async function () {
    if (this !== undefined) throw new TypeError("Illegal invocation");
    return new Response("[]");
  };
  assert.deepEqual(await petcat({ fetch }).categories.list(), []);
});

test("an error as JSON", async () => {
  const fetch = async () => new Response(JSON.stringify({ code: "not_found", message: "no" }), { status: 404, headers: { "X-Request-Id": "R" } });
  const error = await petcat({ fetch }).categories.get(7).catch((error) => error);
  assert(error instanceof PetcatError);
  const { name, message, status, code, requestId } = JSON.parse(JSON.stringify(error));
  assert.deepEqual([name, message, status, code, requestId], ["APIError", "404 not_found: no (request R)", 404, "not_found", "R"]);
});

test("onRetry gets each retry", async () => {
  const retries = [];
  let first = true;
  const fetch = async () => new Response("[]", { status: first ? ((first = false), 503) : 200 });
  await petcat({ fetch, maxRetries: 1, onRetry: (retry) => retries.push(retry) }).categories.list();
  assert.equal(retries.length, 1);
  assert.equal(retries[0].attempt, 1);
  assert.equal(retries[0].error.status, 503);
  assert(retries[0].delayMs >= 250 && retries[0].delayMs <= 500);
});

test("invalid arguments are rejected before a request", async () => {
  const { categories } = petcat({ fetch: () => assert.fail("a request was sent") });
  for (const wrong of [
    () => categories.get("1/../../usage"),
    () => categories.get(0),
    () => categories.update(1, { name: "x" }, { ifMatch: undefined }),
    () => categories.update({ id: 1, name: "of a list" }, { name: "x" }),
    () => categories.list({ timeoutMs: 0 }),
    () => categories.create({ name: "x" }, { idempotencyKey: "" }),
    () => categories.create({ name: "x" }, { idempotencyKey: "a".repeat(256) }),
    () => categories.create({ name: 1n }),
    () => categories.list({ headers: { "no header": "x" } }),
  ]) {
    await assert.rejects(wrong(), TypeError);
  }
});

test("the package", () => {
  const { version: published } = JSON.parse(readFileSync(here("../package.json"), "utf8"));
  assert.equal(version, published);
  for (const file of readdirSync(here("../dist/esm/"))) {
    if (file.endsWith(".js")) assert.doesNotMatch(readFileSync(here(`../dist/esm/${file}`), "utf8"), /from "(?!\.\/)/, `${file} imports a module that browsers lack`);
  }
});

test("the package in CommonJS", async () => {
  const common = createRequire(import.meta.url)("petcat");
  assert.deepEqual(Object.keys(common).sort(), Object.keys(await import("petcat")).sort());
  assert.equal(new common.Petcat({ apiKey, baseUrl }).limits, undefined);
});
