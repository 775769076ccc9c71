// Uses the service through openapi-fetch and the types in schema.mts, which
// openapi-typescript makes of the served document, and prints what came back.
// Arguments: the base URL of the API, a key, and a key whose day is spent.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.mjs";

type Category = components["schemas"]["Category"];
type ServiceError = components["schemas"]["Error"];

const [baseUrl = "", key = "", spentKey = ""] = process.argv.slice(2);

const clientOf = (key: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

/** value returns what a call that succeeded brought. */
function value<T>(result: { data?: T; error?: unknown; response: Response }): T {
  if (result.data === undefined) throw new Error(`${result.response.status} ${JSON.stringify(result.error)}`);
  return result.data;
}

/** failure returns what a call that failed brought: every error is of one type. */
function failure(result: { data?: unknown; error?: ServiceError; response: Response }): ServiceError {
  if (result.error === undefined) throw new Error(`${result.response.status} instead of an error`);
  return result.error;
}

const api = clientOf(key);
const before: Category[] = value(await api.GET("/categories"));

const header = { "Idempotency-Key": crypto.randomUUID() };
const body = { name: "Wolves", description: "Not dogs" };
const created: Category = value(await api.POST("/categories", { params: { header }, body }));
const repeated = await api.POST("/categories", { params: { header }, body });

const path = { categoryId: created.id };
const got = await api.GET("/categories/{categoryId}", { params: { path } });
const unchanged = { path, header: { "If-Match": got.response.headers.get("ETag") ?? "" } };
const patch = { body: { description: null }, headers: { "Content-Type": "application/merge-patch+json" } };
const updated: Category = value(await api.PATCH("/categories/{categoryId}", { params: unchanged, ...patch }));
const stale = failure(await api.PATCH("/categories/{categoryId}", { params: unchanged, ...patch }));

// @ts-expect-error: the types know that a category needs a name.
const unnamed = failure(await api.POST("/categories", { body: { description: "?" } }));

const usage = value(await api.GET("/usage"));
const pet = value(await api.POST("/pets", { body: { name: "Rex", category_id: created.id - 1 } }));
const pets = value(await api.GET("/pets", { params: { query: { category_id: pet.category_id } } }));
const ordered = value(await api.POST("/store/orders", { body: { pet_id: pet.id, quantity: 2 } }));
const orders = value(await api.GET("/store/orders"));
const inUse = failure(await api.DELETE("/categories/{categoryId}", { params: { path: { categoryId: pet.category_id } } }));

const deleted = await api.DELETE("/categories/{categoryId}", { params: { path } });
const missing = failure(await api.GET("/categories/{categoryId}", { params: { path } }));

const refused = await clientOf(spentKey).GET("/categories");
const limit = (name: string) => Number(refused.response.headers.get(name));

console.log(
  JSON.stringify({
    before,
    created,
    repeated: value(repeated),
    replayed: repeated.response.headers.get("Idempotent-Replayed"),
    got: value(got),
    updated,
    stale,
    unnamed,
    plan: usage.plan,
    windows: usage.windows.map((w) => w.window),
    banned: usage.ban !== null,
    pets,
    ordered,
    orders,
    inUse,
    deleted: deleted.response.status,
    missing,
    refused: failure(refused),
    limit: limit("X-RateLimit-Limit"),
    remaining: limit("X-RateLimit-Remaining"),
    reset: limit("X-RateLimit-Reset"),
    retryAfter: limit("Retry-After"),
  }),
);
