import { Caller, type CallOptions, type PageOptions, type Query, type Result, type Retry } from "./calls.js";
import type { Wait } from "./gate.js";
import type { Limits } from "./limits.js";
import { Mirror, type ChangeOptions, type ChangePage } from "./mirror.js";
import type { components } from "./schema.js";
type Schemas = components["schemas"];
/** The additional member of a created object. */
interface Created {
    /** Whether an earlier request with the same idempotency key created it. */
    replayed?: boolean;
}
/** A class of pets. Its ETag identifies its current state, for `ifMatch`; it is missing in lists. */
export type Category = Schemas["Category"] & Created & {
    etag?: string;
};
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
export declare const version = "1.0.0";
/** Calls one service with one key. Create one and share it: each client has its own gate. */
export declare class Petcat {
    #private;
    readonly categories: Categories;
    readonly pets: Pets;
    readonly orders: Orders;
    readonly key: Key;
    constructor(options?: Options);
    /** The account's limits in the last response that had them. */
    get limits(): Limits | undefined;
    /**
     * Returns the account's use of its quotas. The request does not count against them. If the service allows
     * requests again, waiting calls continue at once.
     */
    usage(options?: CallOptions): Promise<Usage>;
    /**
     * Returns the account's requests by the hour or day, without empty periods; with `group`, by key or operation.
     * The request does not count against the quotas.
     */
    usageHistory({ by, from, to, group, ...options }?: UsageHistoryOptions): Promise<UsageEntry[]>;
    /**
     * Sends any request, with the retries and limits of the other methods, and returns the decoded JSON with the
     * response. The path is below `/v1`, such as `/categories`. A POST gets an Idempotency-Key, unless `headers` has one.
     */
    request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Result<T>>;
}
/** The operations of Categories. Each returns its result with the response. */
export declare class RawCategories {
    #private;
    /** @internal */
    constructor(caller: Caller);
    create(category: NewCategory, options?: CreateOptions): Promise<Result<Category>>;
    get(id: number, options?: CallOptions): Promise<Result<Category>>;
    update(category: number | Category, change: CategoryPatch, options?: ConditionOptions): Promise<Result<Category>>;
    delete(category: number | Category, options?: ConditionOptions): Promise<Result<null>>;
    list({ name, ...options }?: ListOptions): Promise<Result<Category[]>>;
    listIfChanged(etag?: string, options?: CallOptions): Promise<Result<ListState>>;
}
/** The operations on categories. All accounts share one list of them. */
export declare class Categories {
    #private;
    /** The same operations, each with status, headers, request id and limits. */
    readonly raw: RawCategories;
    /** @internal */
    constructor(caller: Caller);
    /** Creates a category. When the promise resolves, the category is on the service's disk. */
    create(category: NewCategory, options?: CreateOptions): Promise<Category>;
    /** Returns one category, with its ETag. */
    get(id: number, options?: CallOptions): Promise<Category>;
    /**
     * Updates a category and returns the result. A description of `null` removes it. If you pass the category instead
     * of its id, it must still have its ETag. Without a condition, the last change wins, and a request without a
     * response is not retried.
     */
    update(category: number | Category, change: CategoryPatch, options?: ConditionOptions): Promise<Category>;
    /**
     * Deletes a category. Fails with 409 if the account has pets of it. If you pass the category instead of its id, it
     * must still have its ETag.
     */
    delete(category: number | Category, options?: ConditionOptions): Promise<void>;
    /** Returns all categories by ascending id, from one response; with a name, only those with exactly this name. */
    list(options?: ListOptions): Promise<Category[]>;
    /** Returns all categories and the list's ETag, or no categories if the list still has the given ETag. */
    listIfChanged(etag?: string, options?: CallOptions): Promise<ListState>;
    /** Iterates over all categories, reading them in pages. */
    all(options?: PageOptions & CallOptions): AsyncGenerator<Category, void>;
    /**
     * Iterates over the pages of categories that changed after a bookmark; there is at least one. If the bookmark has
     * expired, the error has the code `cursor_expired`: begin without one. A mirror does all that.
     */
    changes(options?: ChangeOptions): AsyncGenerator<ChangePage, void>;
    /** Returns an empty copy of all categories, which its `refresh` fills and keeps current. */
    mirror(): Mirror;
}
/** The operations on pets. Experimental. */
export declare class Pets {
    #private;
    /** @internal */
    constructor(caller: Caller);
    /** Creates a pet in a category. */
    create(pet: NewPet, options?: CreateOptions): Promise<Pet>;
    /** @deprecated The service removes this operation on 2027-11-30. */
    get(id: number, options?: CallOptions): Promise<Pet>;
    /** Deletes a pet of the account. */
    delete(id: number, options?: CallOptions): Promise<void>;
    /** Iterates over all pets, or the pets of a category. */
    all({ categoryId, ...options }?: PageOptions & CallOptions & {
        categoryId?: number | undefined;
    }): AsyncGenerator<Pet, void>;
}
/** The operations on store orders. Experimental. */
export declare class Orders {
    #private;
    /** @internal */
    constructor(caller: Caller);
    /** Orders a pet. */
    create(order: NewOrder, options?: CreateOptions): Promise<Order>;
    /** Iterates over all orders of the account. */
    all(options?: PageOptions & CallOptions): AsyncGenerator<Order, void>;
}
/** The key that the client uses. A read-only key may do all of this. */
export declare class Key {
    #private;
    /** @internal */
    constructor(caller: Caller);
    /** Returns the key. The request does not count against the limits. It counts as a use of the key: send it with the successor after a rotation. */
    get(options?: CallOptions): Promise<KeyInfo>;
    /**
     * Replaces the key and returns its successor. Store it, and call `get` with a client that uses it. Both keys work until the overlap ends.
     * If the response with the secret was lost, the key is rotated again, up to 5 seconds later, and the lost key is revoked; not if you pass an idempotency key.
     */
    rotate({ overlap, ...options }?: RotateOptions): Promise<RotatedKey>;
    /** Revokes the key permanently. */
    revoke(options?: CreateOptions): Promise<void>;
}
export {};
