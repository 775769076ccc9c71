import { Caller, isRecord, listOf } from "./calls.js";
import { APIError } from "./errors.js";
import { changes, Mirror } from "./mirror.js";
/** The version of this package. */
export const version = "1.0.0";
/** Node.js or a compatible runtime; undefined in browsers. */
const runtime = globalThis.process;
/** Calls one service with one key. Create one and share it: each client has its own gate. */
export class Petcat {
    categories;
    pets;
    orders;
    key;
    #caller;
    constructor(options = {}) {
        const key = checkedKey(options.apiKey ?? runtime?.env?.["PETCAT_API_KEY"]);
        const { maxRetries = 8, maxWaitMs = 120_000, timeoutMs = 30_000, appName = "", onRetry, onWait } = options;
        const send = options.fetch ?? ((input, init) => fetch(input, init));
        const node = runtime?.versions?.node;
        const headers = { Accept: "application/json" };
        if (node)
            headers["User-Agent"] = `petcat-typescript/${version} (Node.js ${node}) ${appName}`.trimEnd();
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
    get limits() {
        return this.#caller.limits;
    }
    /**
     * Returns the account's use of its quotas. The request does not count against them. If the service allows
     * requests again, waiting calls continue at once.
     */
    async usage(options) {
        const read = (value) => Array.isArray(value?.windows) ? value : undefined;
        const { value } = await this.#caller.call({ method: "GET", path: "/usage", read, options });
        if (!value.ban && value.windows.length > 0 && value.windows.every(({ remaining }) => remaining > 0))
            this.#caller.gate.reopen();
        return value;
    }
    /**
     * Returns the account's requests by the hour or day, without empty periods; with `group`, by key or operation.
     * The request does not count against the quotas.
     */
    async usageHistory({ by, from, to, group, ...options } = {}) {
        const read = (value) => Array.isArray(value) ? value : undefined;
        const query = { by, from, to, group };
        return (await this.#caller.call({ method: "GET", path: "/usage/history", query, read, options })).value;
    }
    /**
     * Sends any request, with the retries and limits of the other methods, and returns the decoded JSON with the
     * response. The path is below `/v1`, such as `/categories`. A POST gets an Idempotency-Key, unless `headers` has one.
     */
    async request(method, path, options = {}) {
        if (!/^[A-Z]+$/.test(method) || !/^\/[!-~]*$/.test(path) || /[?#]/.test(path)) {
            throw new TypeError('a request has a method such as "GET", and a path below /v1 such as "/categories", without a query');
        }
        const { query, body, ...rest } = options;
        const headers = Object.fromEntries(new Headers(rest.headers));
        if (method === "POST")
            headers["idempotency-key"] ??= randomKey();
        if (method === "PATCH")
            headers["content-type"] ??= "application/merge-patch+json";
        const read = (value, { status }) => (value ?? (status === 204 || status === 304 || status === 404 ? null : undefined));
        return this.#caller.call({ method, path, read, query, body, headers, options: rest });
    }
}
/** The operations of Categories. Each returns its result with the response. */
export class RawCategories {
    #caller;
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
    }
    async create(category, options = {}) {
        return this.#caller.call(create("/categories", category, options));
    }
    async get(id, options) {
        return this.#caller.call({ method: "GET", path: at("/categories", id), read: (one), options });
    }
    async update(category, change, options = {}) {
        const headers = { ...condition(category, options), "Content-Type": "application/merge-patch+json" };
        return this.#caller.call({ method: "PATCH", path: at("/categories", category), read: (one), body: change, headers, options });
    }
    async delete(category, options = {}) {
        return this.#caller.call({ method: "DELETE", path: at("/categories", category), read: nothing, headers: condition(category, options), options });
    }
    async list({ name, ...options } = {}) {
        return this.#caller.call({ method: "GET", path: "/categories", read: (listOf), query: { name }, options });
    }
    async listIfChanged(etag, options) {
        const read = (value, { status, headers }) => {
            if (status === 304)
                return { categories: undefined, etag: etag ?? "" };
            const categories = listOf(value);
            return categories && { categories, etag: headers.get("ETag") ?? "" };
        };
        return this.#caller.call({ method: "GET", path: "/categories", read, headers: etag ? { "If-None-Match": etag } : {}, options });
    }
}
/** The operations on categories. All accounts share one list of them. */
export class Categories {
    /** The same operations, each with status, headers, request id and limits. */
    raw;
    #caller;
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
        this.raw = new RawCategories(caller);
    }
    /** Creates a category. When the promise resolves, the category is on the service's disk. */
    async create(category, options) {
        return (await this.raw.create(category, options)).value;
    }
    /** Returns one category, with its ETag. */
    async get(id, options) {
        return (await this.raw.get(id, options)).value;
    }
    /**
     * Updates a category and returns the result. A description of `null` removes it. If you pass the category instead
     * of its id, it must still have its ETag. Without a condition, the last change wins, and a request without a
     * response is not retried.
     */
    async update(category, change, options) {
        return (await this.raw.update(category, change, options)).value;
    }
    /**
     * Deletes a category. Fails with 409 if the account has pets of it. If you pass the category instead of its id, it
     * must still have its ETag.
     */
    async delete(category, options) {
        await this.raw.delete(category, options);
    }
    /** Returns all categories by ascending id, from one response; with a name, only those with exactly this name. */
    async list(options) {
        return (await this.raw.list(options)).value;
    }
    /** Returns all categories and the list's ETag, or no categories if the list still has the given ETag. */
    async listIfChanged(etag, options) {
        return (await this.raw.listIfChanged(etag, options)).value;
    }
    /** Iterates over all categories, reading them in pages. */
    all(options) {
        return this.#caller.pages("/categories", options);
    }
    /**
     * Iterates over the pages of categories that changed after a bookmark; there is at least one. If the bookmark has
     * expired, the error has the code `cursor_expired`: begin without one. A mirror does all that.
     */
    changes(options = {}) {
        return changes(this.#caller, options);
    }
    /** Returns an empty copy of all categories, which its `refresh` fills and keeps current. */
    mirror() {
        return new Mirror(this.#caller);
    }
}
/** The operations on pets. Experimental. */
export class Pets {
    #caller;
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
    }
    /** Creates a pet in a category. */
    async create(pet, options = {}) {
        return (await this.#caller.call(create("/pets", pet, options))).value;
    }
    /** @deprecated The service removes this operation on 2027-11-30. */
    async get(id, options) {
        return (await this.#caller.call({ method: "GET", path: at("/pets", id), read: (one), options })).value;
    }
    /** Deletes a pet of the account. */
    async delete(id, options) {
        await this.#caller.call({ method: "DELETE", path: at("/pets", id), read: nothing, options });
    }
    /** Iterates over all pets, or the pets of a category. */
    all({ categoryId, ...options } = {}) {
        return this.#caller.pages("/pets", options, { category_id: categoryId });
    }
}
/** The operations on store orders. Experimental. */
export class Orders {
    #caller;
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
    }
    /** Orders a pet. */
    async create(order, options = {}) {
        return (await this.#caller.call(create("/store/orders", order, options))).value;
    }
    /** Iterates over all orders of the account. */
    all(options) {
        return this.#caller.pages("/store/orders", options);
    }
}
/** The key that the client uses. A read-only key may do all of this. */
export class Key {
    #caller;
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
    }
    /** Returns the key. The request does not count against the limits. It counts as a use of the key: send it with the successor after a rotation. */
    async get(options) {
        return (await this.#caller.call({ method: "GET", path: "/key", read: (keyOf), options })).value;
    }
    /**
     * Replaces the key and returns its successor. Store it, and call `get` with a client that uses it. Both keys work until the overlap ends.
     * If the response with the secret was lost, the key is rotated again, up to 5 seconds later, and the lost key is revoked; not if you pass an idempotency key.
     */
    async rotate({ overlap, ...options } = {}) {
        for (;;) {
            const call = created("/key/rotate", overlap === undefined ? {} : { overlap }, (keyOf), options);
            const { value } = await this.#caller.call(call);
            if (!value.replayed || options.idempotencyKey !== undefined)
                return value;
        }
    }
    /** Revokes the key permanently. */
    async revoke(options = {}) {
        try {
            await this.#caller.call(created("/key/revoke", undefined, (keyOf), options));
        }
        catch (error) {
            const done = error instanceof APIError && error.code === "revoked_api_key" && error.outcomeUnknown;
            if (!done)
                throw error; // else an earlier request of this call revoked it
        }
    }
}
/** Reads a key, whose id is a text. */
function keyOf(value) {
    return typeof value?.id === "string" ? value : undefined;
}
function create(path, body, options) {
    return created(path, body, (one), options);
}
function created(path, body, readOne, options) {
    const { idempotencyKey = randomKey() } = options;
    if (!/^[!-~]{1,255}$/.test(idempotencyKey)) {
        throw new TypeError("idempotencyKey must be 1 to 255 visible ASCII characters; leave it out, and each create gets its own");
    }
    const read = (value, response) => {
        const made = readOne(value, response);
        return made && { ...made, replayed: response.headers.get("Idempotent-Replayed") === "true" };
    };
    return { method: "POST", path, read, body, headers: { "Idempotency-Key": idempotencyKey }, options };
}
/** Returns a random key. Browsers have crypto.randomUUID only on https pages. */
function randomKey() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
/** Reads one object, with its ETag if the response has one. */
function one(value, { headers }) {
    const etag = headers.get("ETag");
    return isRecord(value) ? { ...value, ...(etag && { etag }) } : undefined;
}
/** Reads the response to a delete. 404: an earlier request of the call deleted it. */
function nothing(_, { status }) {
    return status === 204 || status === 404 ? null : undefined;
}
function at(path, resource) {
    const id = typeof resource === "object" ? resource.id : resource;
    if (!Number.isSafeInteger(id) || id < 1)
        throw new TypeError("an id is a positive whole number");
    return `${path}/${id}`;
}
function condition(category, options) {
    const given = "ifMatch" in options;
    if (!given && typeof category !== "object")
        return {};
    const ifMatch = (given ? options.ifMatch : category.etag) ?? "";
    if (!given && !ifMatch)
        throw new TypeError("a category of a list has no ETag: get it, or pass its id to change whatever is there");
    if (!/^[!-~]+$/.test(ifMatch))
        throw new TypeError("ifMatch must be an ETag that the service gave; leave it out to change whatever is there");
    return { "If-Match": ifMatch };
}
function checkedKey(key) {
    if (!key)
        throw new TypeError("the API key is missing: set PETCAT_API_KEY, or pass apiKey");
    if (!/^[!-~]+$/.test(key) || /^["']|["']$/.test(key)) {
        throw new TypeError("the API key has white space, quotes or characters that no key has: was it read with the end of its line, or its quotes?");
    }
    return key;
}
/** Returns the URL with /v1. Errors do not quote it: it may be the key, passed by mistake. */
function checkedUrl(text = "") {
    const url = /^https?:\/\/[!-~]+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
    if (!url)
        throw new TypeError("the service URL must look like https://petcat.example.com/v1: set PETCAT_URL, or pass baseUrl");
    if (url.username || url.password || /[?#]/.test(text)) {
        throw new TypeError("the URL of the service must have no user, query or fragment; the key is apiKey");
    }
    const path = url.pathname.replace(/\/+$/, "");
    return url.origin + (path.endsWith("/v1") ? path : `${path}/v1`);
}
