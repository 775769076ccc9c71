import { Caller, isRecord, listOf, type Call, type CallOptions, type PageOptions, type Query, type Result, type Retry } from "./calls.js";
import { APIError } from "./errors.js";
import type { Wait } from "./gate.js";
import type { Limits } from "./limits.js";
import { changes, Mirror, type ChangeOptions, type ChangePage } from "./mirror.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** The additional member of a created object. */
interface Created {
  /** Whether an earlier request with the same idempotency key created it. */
  replayed?: boolean;
}
/** A class of pets. Its ETag identifies its current state, for `ifMatch`; it is missing in lists. */
export type Category = Schemas["Category"] & Created & { etag?: string };
/** An animal of a category. */
export type Pet = Schemas["Pet"] & Created;
/** An order of a pet. */
export type Order = Schemas["Order"] & Created;
/** The account's use of its quotas and its storage. */
export type Usage = Schemas["Usage"];
export type KeyInfo = Schemas["Key"];
/** The successor of a key. `key` is its secret; it is missing only if you repeat a rotation with an earlier idempotency key. */
export type RotatedKey = Schemas["RotatedKey"] & Created;
export type UsageEntry = Schemas["UsageEntry"];

/** Selects a part of the usage history, at most 168 hours or 92 days. Times are in Unix seconds. */
export interface UsageHistoryOptions extends CallOptions {
  by?: "day" | "hour" | undefined;
  from?: number | undefined;
  to?: number | undefined;
  group?: "key" | "operation" | undefined;
}
export type NewCategory = Schemas["NewCategory"];
/** What an update changes. */
export type CategoryPatch = Schemas["CategoryPatch"];
export type NewPet = Schemas["NewPet"];
export type NewOrder = Schemas["NewOrder"];

export interface CreateOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters: within 24 hours, a second create with the same key returns the first result. */
  idempotencyKey?: string | undefined;
}
export interface RotateOptions extends CreateOptions {
  /** How long both keys work, from "5m" to "30d". Default: "24h". */
  overlap?: string | undefined;
}
/** Options of any request. */
export interface RequestOptions extends CallOptions {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: object | undefined;
}
export interface ConditionOptions extends CallOptions {
  /** The ETag that the category must have. Default: the ETag of the category, if you pass it instead of its id. */
  ifMatch?: string;
}
export interface ListOptions extends CallOptions {
  /** Return only categories with exactly this name. */
  name?: string | undefined;
}
/** All categories, and the ETag of the list; `categories` is undefined if it has not changed. */
export interface ListState {
  categories: Category[] | undefined;
  etag: string;
}

/** The options of a client, with their defaults. */
export interface Options {
  /** Default: the environment variable PETCAT_API_KEY. */
  apiKey?: string | undefined;
  /** With or without `/v1`. Default: the environment variable PETCAT_URL. */
  baseUrl?: string | undefined;
  /** The maximum number of retries of a call. Default: 8. */
  maxRetries?: number | undefined;
  /**
   * The maximum time that a call waits for the end of a window or a ban. Default: 120,000. It does not limit
   * the wait behind earlier calls: after a 429, up to a minute for each.
   */
  maxWaitMs?: number | undefined;
  /** The maximum time of a request with its whole response. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** The calling program, such as "acme/1.2", for the User-Agent. Browsers send their own. */
  appName?: string | undefined;
  /** Sends the requests. Use it for proxies, certificates and tests. */
  fetch?: typeof fetch | undefined;
  /** Called before each retry. */
  onRetry?: ((retry: Retry) => void) | undefined;
  /** Called before a call waits more than a second for the limits. */
  onWait?: ((wait: Wait) => void) | undefined;
}

/** The version of this package. */
export const version = "1.0.0";

/** Node.js or a compatible runtime; undefined in browsers. */
const runtime = (globalThis as { process?: { env?: Record<string, string | undefined>; versions?: { node?: string } } }).process;

/** Calls one service with one key. Create one and share it: each client has its own gate. */
export class Petcat {
  readonly categories: Categories;
  readonly pets: Pets;
  readonly orders: Orders;
  readonly key: Key;
  readonly #caller: Caller;

  constructor(options: Options = {}) {
    const key = checkedKey(options.apiKey ?? runtime?.env?.["PETCAT_API_KEY"]);
    const { maxRetries = 8, maxWaitMs = 120_000, timeoutMs = 30_000, appName = "", onRetry, onWait } = options;
    const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
    const node = runtime?.versions?.node;
    const headers: Record<string, string> = { Accept: "application/json" };
    if (node) headers["User-Agent"] = `petcat-typescript/${version} (Node.js ${node}) ${appName}`.trimEnd();
    this.#caller = new Caller({
      baseUrl: checkedUrl(options.baseUrl ?? runtime?.env?.["PETCAT_URL"]),
      headers: () => ({ ...headers, Authorization: `Bearer ${key}` }),
      fetch: (input, init) => send(input, init), // not as a method, which browsers reject
      maxRetries, maxWaitMs, timeoutMs, onRetry, onWait,
    });
    this.categories = new Categories(this.#caller);
    this.pets = new Pets(this.#caller);
    this.orders = new Orders(this.#caller);
    this.key = new Key(this.#caller);
  }

  /** The account's limits in the last response that had them. */
  get limits(): Limits | undefined {
    return this.#caller.limits;
  }

  /**
   * Returns the account's use of its quotas. The request does not count against them. If the service allows
   * requests again, waiting calls continue at once.
   */
  async usage(options?: CallOptions): Promise<Usage> {
    const read = (value: unknown): Usage | undefined => Array.isArray((value as Usage | null | undefined)?.windows) ? (value as Usage) : undefined;
    const { value } = await this.#caller.call({ method: "GET", path: "/usage", read, options });
    if (!value.ban && value.windows.length > 0 && value.windows.every(({ remaining }) => remaining > 0)) this.#caller.gate.reopen();
    return value;
  }

  /**
   * Returns the account's requests by the hour or day, without empty periods; with `group`, by key or operation.
   * The request does not count against the quotas.
   */
  async usageHistory({ by, from, to, group, ...options }: UsageHistoryOptions = {}): Promise<UsageEntry[]> {
    const read = (value: unknown): UsageEntry[] | undefined => Array.isArray(value) ? (value as UsageEntry[]) : undefined;
    const query = { by, from, to, group };
    return (await this.#caller.call({ method: "GET", path: "/usage/history", query, read, options })).value;
  }

  /**
   * Sends any request, with the retries and limits of the other methods, and returns the decoded JSON with the
   * response. The path is below `/v1`, such as `/categories`. A POST gets an Idempotency-Key, unless `headers` has one.
   */
  async request<T = unknown>(method: string, path: string, options: RequestOptions = {}): Promise<Result<T>> {
    if (!/^[A-Z]+$/.test(method) || !/^\/[!-~]*$/.test(path) || /[?#]/.test(path)) {
      throw new TypeError('a request has a method such as "GET", and a path below /v1 such as "/categories", without a query');
    }
    const { query, body, ...rest } = options;
    const headers: Record<string, string> = Object.fromEntries(new Headers(rest.headers));
    if (method === "POST") headers["idempotency-key"] ??= randomKey();
    if (method === "PATCH") headers["content-type"] ??= "application/merge-patch+json";
    const read = (value: unknown, { status }: Response): T | undefined => ((value ?? (status === 204 || status === 304 || status === 404 ? null : undefined)) as T | undefined);
    return this.#caller.call({ method, path, read, query, body, headers, options: rest });
  }
}

/** The operations of Categories. Each returns its result with the response. */
export class RawCategories {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async create(category: NewCategory, options: CreateOptions = {}): Promise<Result<Category>> {
    return this.#caller.call(create<Category>("/categories", category, options));
  }

  async get(id: number, options?: CallOptions): Promise<Result<Category>> {
    return this.#caller.call({ method: "GET", path: at("/categories", id), read: one<Category>, options });
  }

  async update(category: number | Category, change: CategoryPatch, options: ConditionOptions = {}): Promise<Result<Category>> {
    const headers = { ...condition(category, options), "Content-Type": "application/merge-patch+json" };
    return this.#caller.call({ method: "PATCH", path: at("/categories", category), read: one<Category>, body: change, headers, options });
  }

  async delete(category: number | Category, options: ConditionOptions = {}): Promise<Result<null>> {
    return this.#caller.call({ method: "DELETE", path: at("/categories", category), read: nothing, headers: condition(category, options), options });
  }

  async list({ name, ...options }: ListOptions = {}): Promise<Result<Category[]>> {
    return this.#caller.call({ method: "GET", path: "/categories", read: listOf<Category>, query: { name }, options });
  }

  async listIfChanged(etag?: string, options?: CallOptions): Promise<Result<ListState>> {
    const read = (value: unknown, { status, headers }: Response): ListState | undefined => {
      if (status === 304) return { categories: undefined, etag: etag ?? "" };
      const categories = listOf<Category>(value);
      return categories && { categories, etag: headers.get("ETag") ?? "" };
    };
    return this.#caller.call({ method: "GET", path: "/categories", read, headers: etag ? { "If-None-Match": etag } : {}, options });
  }
}

/** The operations on categories. All accounts share one list of them. */
export class Categories {
  /** The same operations, each with status, headers, request id and limits. */
  readonly raw: RawCategories;
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
    this.raw = new RawCategories(caller);
  }

  /** Creates a category. When the promise resolves, the category is on the service's disk. */
  async create(category: NewCategory, options?: CreateOptions): Promise<Category> {
    return (await this.raw.create(category, options)).value;
  }

  /** Returns one category, with its ETag. */
  async get(id: number, options?: CallOptions): Promise<Category> {
    return (await this.raw.get(id, options)).value;
  }

  /**
   * Updates a category and returns the result. A description of `null` removes it. If you pass the category instead
   * of its id, it must still have its ETag. Without a condition, the last change wins, and a request without a
   * response is not retried.
   */
  async update(category: number | Category, change: CategoryPatch, options?: ConditionOptions): Promise<Category> {
    return (await this.raw.update(category, change, options)).value;
  }

  /**
   * Deletes a category. Fails with 409 if the account has pets of it. If you pass the category instead of its id, it
   * must still have its ETag.
   */
  async delete(category: number | Category, options?: ConditionOptions): Promise<void> {
    await this.raw.delete(category, options);
  }

  /** Returns all categories by ascending id, from one response; with a name, only those with exactly this name. */
  async list(options?: ListOptions): Promise<Category[]> {
    return (await this.raw.list(options)).value;
  }

  /** Returns all categories and the list's ETag, or no categories if the list still has the given ETag. */
  async listIfChanged(etag?: string, options?: CallOptions): Promise<ListState> {
    return (await this.raw.listIfChanged(etag, options)).value;
  }

  /** Iterates over all categories, reading them in pages. */
  all(options?: PageOptions & CallOptions): AsyncGenerator<Category, void> {
    return this.#caller.pages<Category>("/categories", options);
  }

  /**
   * Iterates over the pages of categories that changed after a bookmark; there is at least one. If the bookmark has
   * expired, the error has the code `cursor_expired`: begin without one. A mirror does all that.
   */
  changes(options: ChangeOptions = {}): AsyncGenerator<ChangePage, void> {
    return changes(this.#caller, options);
  }

  /** Returns an empty copy of all categories, which its `refresh` fills and keeps current. */
  mirror(): Mirror {
    return new Mirror(this.#caller);
  }
}

/** The operations on pets. Experimental. */
export class Pets {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Creates a pet in a category. */
  async create(pet: NewPet, options: CreateOptions = {}): Promise<Pet> {
    return (await this.#caller.call(create<Pet>("/pets", pet, options))).value;
  }

  /** @deprecated The service removes this operation on 2027-11-30. */
  async get(id: number, options?: CallOptions): Promise<Pet> {
    return (await this.#caller.call({ method: "GET", path: at("/pets", id), read: one<Pet>, options })).value;
  }

  /** Deletes a pet of the account. */
  async delete(id: number, options?: CallOptions): Promise<void> {
    await this.#caller.call({ method: "DELETE", path: at("/pets", id), read: nothing, options });
  }

  /** Iterates over all pets, or the pets of a category. */
  all({ categoryId, ...options }: PageOptions & CallOptions & { categoryId?: number | undefined } = {}): AsyncGenerator<Pet, void> {
    return this.#caller.pages<Pet>("/pets", options, { category_id: categoryId });
  }
}

/** The operations on store orders. Experimental. */
export class Orders {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Orders a pet. */
  async create(order: NewOrder, options: CreateOptions = {}): Promise<Order> {
    return (await this.#caller.call(create<Order>("/store/orders", order, options))).value;
  }

  /** Iterates over all orders of the account. */
  all(options?: PageOptions & CallOptions): AsyncGenerator<Order, void> {
    return this.#caller.pages<Order>("/store/orders", options);
  }
}

/** The key that the client uses. A read-only key may do all of this. */
export class Key {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Returns the key. The request does not count against the limits. It counts as a use of the key: send it with the successor after a rotation. */
  async get(options?: CallOptions): Promise<KeyInfo> {
    return (await this.#caller.call({ method: "GET", path: "/key", read: keyOf<KeyInfo>, options })).value;
  }

  /**
   * Replaces the key and returns its successor. Store it, and call `get` with a client that uses it. Both keys work until the overlap ends.
   * If the response with the secret was lost, the key is rotated again, up to 5 seconds later, and the lost key is revoked; not if you pass an idempotency key.
   */
  async rotate({ overlap, ...options }: RotateOptions = {}): Promise<RotatedKey> {
    for (;;) {
      const call = created("/key/rotate", overlap === undefined ? {} : { overlap }, keyOf<RotatedKey>, options);
      const { value } = await this.#caller.call(call);
      if (!value.replayed || options.idempotencyKey !== undefined) return value;
    }
  }

  /** Revokes the key permanently. */
  async revoke(options: CreateOptions = {}): Promise<void> {
    try {
      await this.#caller.call(created("/key/revoke", undefined, keyOf<KeyInfo>, options));
    } catch (error) {
      const done = error instanceof APIError && error.code === "revoked_api_key" && error.outcomeUnknown;
      if (!done) throw error; // else an earlier request of this call revoked it
    }
  }
}

/** Reads a key, whose id is a text. */
function keyOf<T>(value: unknown): T | undefined {
  return typeof (value as KeyInfo | null | undefined)?.id === "string" ? (value as T) : undefined;
}

function create<T>(path: string, body: object, options: CreateOptions): Call<T> {
  return created(path, body, one<T & object>, options);
}

function created<T extends object>(
  path: string, body: object | undefined, readOne: (value: unknown, response: Response) => T | undefined, options: CreateOptions,
): Call<T> {
  const { idempotencyKey = randomKey() } = options;
  if (!/^[!-~]{1,255}$/.test(idempotencyKey)) {
    throw new TypeError("idempotencyKey must be 1 to 255 visible ASCII characters; leave it out, and each create gets its own");
  }
  const read = (value: unknown, response: Response): T | undefined => {
    const made = readOne(value, response);
    return made && { ...made, replayed: response.headers.get("Idempotent-Replayed") === "true" };
  };
  return { method: "POST", path, read, body, headers: { "Idempotency-Key": idempotencyKey }, options };
}

/** Returns a random key. Browsers have crypto.randomUUID only on https pages. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads one object, with its ETag if the response has one. */
function one<T>(value: unknown, { headers }: Response): T | undefined {
  const etag = headers.get("ETag");
  return isRecord(value) ? ({ ...value, ...(etag && { etag }) } as T) : undefined;
}

/** Reads the response to a delete. 404: an earlier request of the call deleted it. */
function nothing(_: unknown, { status }: Response): null | undefined {
  return status === 204 || status === 404 ? null : undefined;
}

function at(path: string, resource: number | Category): string {
  const id = typeof resource === "object" ? resource.id : resource;
  if (!Number.isSafeInteger(id) || id < 1) throw new TypeError("an id is a positive whole number");
  return `${path}/${id}`;
}

function condition(category: number | Category, options: ConditionOptions): Record<string, string> {
  const given = "ifMatch" in options;
  if (!given && typeof category !== "object") return {};
  const ifMatch = (given ? options.ifMatch : (category as Category).etag) ?? "";
  if (!given && !ifMatch) throw new TypeError("a category of a list has no ETag: get it, or pass its id to change whatever is there");
  if (!/^[!-~]+$/.test(ifMatch)) throw new TypeError("ifMatch must be an ETag that the service gave; leave it out to change whatever is there");
  return { "If-Match": ifMatch };
}

function checkedKey(key: string | undefined): string {
  if (!key) throw new TypeError("the API key is missing: set PETCAT_API_KEY, or pass apiKey");
  if (!/^[!-~]+$/.test(key) || /^["']|["']$/.test(key)) {
    throw new TypeError("the API key has white space, quotes or characters that no key has: was it read with the end of its line, or its quotes?");
  }
  return key;
}

/** Returns the URL with /v1. Errors do not quote it: it may be the key, passed by mistake. */
function checkedUrl(text = ""): string {
  const url = /^https?:\/\/[!-~]+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw new TypeError("the service URL must look like https://petcat.example.com/v1: set PETCAT_URL, or pass baseUrl");
  if (url.username || url.password || /[?#]/.test(text)) {
    throw new TypeError("the URL of the service must have no user, query or fragment; the key is apiKey");
  }
  const path = url.pathname.replace(/\/+$/, "");
  return url.origin + (path.endsWith("/v1") ? path : `${path}/v1`);
}
