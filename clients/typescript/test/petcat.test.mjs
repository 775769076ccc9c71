// Tests of the real fetch, and of features that only this client has.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { ConnectionError, Petcat, PetcatError, version } from "petcat";

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
  await assert.rejects(petcat().categories.create({ name: "redirect" }), (error) => error instanceof PetcatError && error.status === 307);
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
  assert.equal((await failure({ baseUrl: `http://127.0.0.1:${port}` }, "x")).outcomeUnknown, false);
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
    assert(error.cause === reason || error.cause.cause === reason || error.cause.message === reason.message, error);
  }
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
  for (const file of readdirSync(here("../dist/"))) {
    if (file.endsWith(".js")) assert.doesNotMatch(readFileSync(here(`../dist/${file}`), "utf8"), /from "(?!\.\/)/, `${file} imports a module that browsers lack`);
  }
});
