export interface paths {
    "/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all categories
         * @description Returns all categories in one array, sorted by `id`; `[]` if there are none. The list contains all creates, changes and
         *     deletions that were acknowledged before the request.
         *
         *     With `limit` or `after` the response is one page: the first categories with an id above `after`. `Link: <...>; rel="next"`
         *     is the next page, and is absent on the last one. Following these links, however many changes others make,
         *     returns every category that exists throughout exactly once. `name` returns only the categories with this name, also in pages.
         *
         *     While the service cannot reach its database, the list may be up to 30 seconds old, or less if the operator
         *     reduced this limit. `Age` is then its age. After that the response is 503.
         *
         *     `HEAD` returns the same headers without the body.
         */
        get: operations["listCategories"];
        put?: never;
        /**
         * Create a category
         * @description Creates a category and returns it with the `id` that the service assigned. Names need not be unique.
         *
         *     A 201 means that the category is on disk and survives a crash. After a 500, a 503 or no response at all, the outcome is
         *     unknown: retry the request with the same `Idempotency-Key`, and the category exists once.
         */
        post: operations["createCategory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/categories/{categoryId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the category.
                 * @example 4
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        /**
         * Get a category
         * @description Returns one category, as current as in a list. `HEAD` returns the same headers without the body.
         *     While the service cannot reach its database, an unknown category gets 503, because it may have been created on another node.
         */
        get: operations["getCategory"];
        put?: never;
        post?: never;
        /**
         * Delete a category
         * @description Deletes a category. Only the account that created it may delete it, and only if the account has no pets of it. Pets of other
         *     accounts keep its `id`, which is never reused. A repetition gets 404. An `Idempotency-Key` gets 400.
         */
        delete: operations["deleteCategory"];
        options?: never;
        head?: never;
        /**
         * Change a category
         * @description Updates a category with a JSON merge patch (RFC 7396) and returns the result: the members that you send replace those of the
         *     category, `null` removes the description, omitted members stay. Only the account that created the category may change
         *     it. Like a create, a change that was acknowledged is on disk.
         *
         *     Send the `ETag` of the category in `If-Match`, and you do not overwrite changes that you have not seen: comparison and update are one step.
         *     After a 500, a 503 or no response, repeat a change only with `If-Match`: if the change was made, the repetition gets 412. Without it, the repetition
         *     could undo another client's change. An `Idempotency-Key` gets 400.
         */
        patch: operations["updateCategory"];
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of your account
         * @description Returns the account's plan, the usage of both windows, bans, and the key of the request. The request does not count, and banned keys may
         *     also send it. Each account may send it 60 times per minute to each node; after that the response is 429, and its headers show the
         *     policy `usage`.
         *
         *     `HEAD` returns the same headers without the body.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pets
         * @description Returns one page of pets, sorted by `id`: the first pets with an id above `after`, by default 100.
         *     `Link: <...>; rel="next"` is the next page, and is absent on the last one. All accounts share one list of pets.
         *
         *     A page contains every pet whose creation was acknowledged before the page was requested. It has no `ETag`. While the service cannot reach its
         *     database, the response is 503. `HEAD` returns the same headers without the body.
         */
        get: operations["listPets"];
        put?: never;
        /**
         * Create a pet
         * @description Creates a pet of a category and returns it with the `id` that the service assigned. Names need not be unique. Every account may create pets of
         *     every category. While your account has pets of a category, it cannot delete the category.
         *
         *     A 201 means that the pet is on disk. After a 500, a 503 or no response at all, the outcome is unknown: retry the request with the same `Idempotency-Key`,
         *     and the pet exists once.
         */
        post: operations["createPet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the pet.
                 * @example 2
                 */
                petId: number;
            };
            cookie?: never;
        };
        /**
         * Get a pet
         * @deprecated
         * @description Returns one pet. This operation is deprecated. It ends on 2027-11-30, and then responds with 410. Its responses, including errors, have the headers
         *     `Deprecation`, `Sunset` and `Link`; responses that are sent before routing, such as 401 and 429, do not.
         *
         *     Use `listPets` instead: `GET {base_url}/pets?after=1&limit=1` returns pet 2 as the only element of a list. If pet 2 does not exist, the
         *     list is empty or starts with a higher `id`.
         *
         *     `HEAD` returns the same headers without the body.
         */
        get: operations["getPetById"];
        put?: never;
        post?: never;
        /**
         * Delete a pet
         * @description Deletes a pet. Only the account that created it may delete it. Orders keep its `id`, which is never reused. A repetition gets 404.
         *     An `Idempotency-Key` gets 400.
         */
        delete: operations["deletePet"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your orders
         * @description Returns one page of your account's orders, sorted by `id`: the first orders with an id above `after`, by default 100.
         *     `Link: <...>; rel="next"` is the next page, and is absent on the last one.
         *
         *     A page contains every order whose creation was acknowledged before the page was requested. It has no `ETag`. While the service cannot reach its
         *     database, the response is 503. `HEAD` returns the same headers without the body.
         */
        get: operations["listOrders"];
        put?: never;
        /**
         * Order a pet
         * @description Creates an order of a pet and returns it with the `id` that the service assigned. Only your account can see it. You can order the same pet any number
         *     of times: there is no stock.
         *
         *     A 201 means that the order is on disk. After a 500, a 503 or no response at all, the outcome is unknown: retry the request with the same
         *     `Idempotency-Key`, and the order exists once.
         */
        post: operations["createOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A class of pets. Members may be added; ignore unknown ones. */
        Category: {
            /**
             * Format: int64
             * @description Assigned by the service, ascending in the order of creation, never reused. It fits in every JSON number type.
             */
            id: number;
            /** @description The name, as sent. */
            name: string;
            /** @description The description, as sent. Absent if the category has none. */
            description?: string;
        };
        /** @description A category to create. Unknown members are ignored, including `id`. */
        NewCategory: {
            /**
             * @description At most 1,000 characters (Unicode code points), not only white space, and no control
             *     characters. It is stored exactly as sent: nothing is trimmed.
             */
            name: string;
            /**
             * @description At most 10,000 characters, no control characters other than tab and line breaks. Omit it if there is none:
             *     `null` gets 400.
             */
            description?: string;
        };
        /** @description Changes of a category. Unknown members are ignored, including `id`. */
        CategoryPatch: {
            /** @description The new name, with the same rules as in a create. */
            name?: string;
            /** @description The new description, with the same rules as in a create; `null` removes it. */
            description?: string | null;
        };
        /** @description A pet of a category. Members may be added; ignore unknown ones. */
        Pet: {
            /**
             * Format: int64
             * @description Assigned by the service, ascending in the order of creation, never reused. It fits in every JSON number type.
             */
            id: number;
            /** @description The name, exactly as it was sent. */
            name: string;
            /**
             * Format: int64
             * @description The `id` of the category.
             */
            category_id: number;
        };
        /** @description A pet to create. Unknown members are ignored, including `id`. */
        NewPet: {
            /**
             * @description At most 1,000 characters (Unicode code points), not only white space, and no control
             *     characters. It is stored exactly as sent: nothing is trimmed.
             */
            name: string;
            /**
             * Format: int64
             * @description The `id` of an existing category.
             */
            category_id: number;
        };
        /** @description An order of a pet. Members may be added; ignore unknown ones. */
        Order: {
            /**
             * Format: int64
             * @description Assigned by the service, ascending in the order of creation, never reused. The orders of all accounts are numbered together,
             *     so yours have gaps.
             */
            id: number;
            /**
             * Format: int64
             * @description The `id` of the pet.
             */
            pet_id: number;
            /**
             * Format: int32
             * @description How many are ordered.
             */
            quantity: number;
        };
        /** @description An order to create. Unknown members are ignored, including `id`. */
        NewOrder: {
            /**
             * Format: int64
             * @description The `id` of an existing pet.
             */
            pet_id: number;
            /**
             * Format: int32
             * @description The number of pets to order.
             */
            quantity: number;
        };
        /** @description The usage of an account. Members may be added; ignore unknown ones. */
        Usage: {
            /** @description The account's plan. */
            plan: "free" | "pro" | "business" | "enterprise" | (string & {});
            /** @description The minute and the day. */
            windows: {
                /** @description The window's name. */
                window: "minute" | "day" | (string & {});
                /**
                 * Format: int64
                 * @description How many requests the window allows.
                 */
                limit: number;
                /**
                 * Format: int64
                 * @description How many requests it has allowed. It can exceed `limit` after a change to a smaller plan or an outage.
                 */
                used: number;
                /**
                 * Format: int64
                 * @description How many more it allows.
                 */
                remaining: number;
                /**
                 * Format: int64
                 * @description When it ends, as a Unix timestamp in seconds.
                 */
                reset: number;
            }[];
            /** @description The active ban of the key, or `null`. */
            ban: {
                /**
                 * Format: int64
                 * @description When the ban ends, as a Unix timestamp in seconds.
                 */
                until: number;
            } | null;
            /** @description The active bans of all keys of the account. */
            bans: {
                /** @description The id of the banned key. */
                key: string;
                /**
                 * Format: int64
                 * @description When the ban ends, as a Unix timestamp in seconds.
                 */
                until: number;
            }[];
            /** @description The key of this request. */
            key: {
                /** @description The id by which the operator knows the key. It is not secret. */
                id: string;
                /** @description What the key is called; may be empty. */
                label: string;
                /** @description Whether operations that change something are 403. */
                read_only: boolean;
                /**
                 * Format: int64
                 * @description When it ends, as a Unix timestamp in seconds; `null`: never.
                 */
                expires_at: number | null;
            };
            /** @description What the account's categories take, and may take. */
            storage: {
                /**
                 * Format: int64
                 * @description The bytes of their texts as JSON in UTF-8, and 64 more for each category.
                 */
                bytes: number;
                /**
                 * Format: int64
                 * @description The most that they may take.
                 */
                max_bytes: number;
                /**
                 * Format: int64
                 * @description How many there are.
                 */
                categories: number;
                /**
                 * Format: int64
                 * @description How many there may be. As many pets, and as many orders, may exist.
                 */
                max_categories: number;
            };
        };
        /** @description An error. It has exactly these members. */
        Error: {
            /**
             * @description The kind of failure, for programs. The list under Errors contains every code of this version. Expect
             *     new codes, and treat an unknown one by its status.
             */
            code: "malformed_json" | "invalid_body" | "missing_field" | "invalid_field" | "missing_api_key" | "invalid_api_key" | "expired_api_key" | "revoked_api_key" | "disabled_api_key" | "forbidden" | "storage_limit_reached" | "not_found" | "method_not_allowed" | "request_timeout" | "idempotency_in_progress" | "category_in_use" | "operation_sunset" | "precondition_failed" | "body_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limit_exceeded" | "daily_quota_exceeded" | "key_banned" | "too_many_failed_attempts" | "too_many_changes" | "internal_error" | "service_unavailable" | (string & {});
            /** @description The problem and the remedy, for people. The wording may change. */
            message: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
        };
    };
    responses: {
        /** @description The API key is missing or invalid. The rate-limit headers show the failed attempts of the client's address. */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The key is valid but not allowed to do this: it is read-only, or another account created the category.
         *     Nothing was changed.
         */
        Forbidden: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The category does not exist, or was deleted. */
        NotFound: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An earlier request with the same `Idempotency-Key` is still running. */
        InProgress: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The account has pets of the category, so it was not deleted. Delete the pets first. */
        CategoryInUse: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body did not arrive within 15 seconds of the start of the request. Nothing was changed. */
        RequestTimeout: {
            headers: {
                "Cache-Control": components["headers"]["NoStore"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than 1 MiB. */
        BodyTooLarge: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The headers declare the body as something other than JSON, or as compressed. */
        NotJSON: {
            headers: {
                "Accept-Encoding": components["headers"]["Accept-Encoding"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The list, the page or the category does not meet `If-Match` or `If-None-Match`. This request changed nothing. */
        PreconditionFailed: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                Link: components["headers"]["Link"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The `Idempotency-Key` was used within the last 24 hours with different content, or for another operation. Nothing was created. */
        KeyReused: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A limit is exceeded, or the key is banned. The request was not processed or counted. Wait for `Retry-After`. */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service failed unexpectedly. A create may have succeeded. */
        InternalError: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service cannot process the request now. A create may have succeeded; retry it with the same `Idempotency-Key`. */
        ServiceUnavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Cache-Control": components["headers"]["NoStore"];
                "X-Stability": components["headers"]["X-Stability"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The quota of the window that these three headers describe. */
        "X-RateLimit-Limit": number;
        /** @description The number of requests remaining in that window; 0 on a rejected request. */
        "X-RateLimit-Remaining": number;
        /**
         * @description The end of that window or of the ban, as a Unix timestamp in seconds. Subtract `Date` to get the number of seconds
         *     until then, independent of your clock.
         */
        "X-RateLimit-Reset": number;
        /**
         * @description All windows at once, as a structured field: `r` requests remain, `t` seconds until the window ends.
         *     Example: `"minute";r=59;t=42, "day";r=999;t=34002`.
         */
        RateLimit: string;
        /**
         * @description The quotas of all windows, as a structured field: `q` requests per `w` seconds.
         *     Example: `"minute";q=60;w=60, "day";q=1000;w=86400`.
         */
        "RateLimit-Policy": string;
        /** @description The number of seconds to wait before the next request. On 429 at least the time until `X-RateLimit-Reset`. */
        "Retry-After": number;
        /**
         * @description Identifies this request in the service's logs. Quote it when you report a failure.
         * @example 9GK2M0T4-1c
         */
        "X-Request-Id": string;
        /**
         * @description The invalid member, query parameter or header. Present with `missing_field` and `invalid_field`, unless the whole query
         *     is invalid.
         * @example name
         */
        "X-Error-Field": string;
        /**
         * @description The names of ignored query parameters, which the operation does not know: percent-encoded, separated by commas, at most ten.
         *     A name of more than 64 bytes is cut and ends in `...`. Any response of an operation may have this header.
         * @example starting_after
         */
        "X-Ignored-Parameters": string;
        /**
         * @description The stability of the operation. Absent if the request failed before routing.
         * @example stable
         */
        "X-Stability": "stable" | "beta" | "experimental";
        /** @description The required scheme; with `error="invalid_token"` if a key was sent. */
        "WWW-Authenticate": string;
        /**
         * @description Identifies this state of the list, in this encoding, or of the page or the category. Opaque; send it back in `If-None-Match`.
         * @example "5f0c1b9e-17"
         */
        ETag: string;
        /**
         * @description A private cache may store the response, and must revalidate it each time.
         * @example private, no-cache
         */
        "Cache-Control": string;
        /**
         * @description No cache may store the response.
         * @example no-store
         */
        NoStore: "no-store";
        /**
         * @description Present if the body is compressed, as requested by `Accept-Encoding`.
         * @example gzip
         */
        "Content-Encoding": "gzip" | "zstd";
        /**
         * @description The request headers that the response depends on.
         * @example Authorization, Accept-Encoding
         */
        Vary: string;
        /**
         * @description Present, and `identity`, if the request body was compressed.
         * @example identity
         */
        "Accept-Encoding": "identity";
        /**
         * @description On every page except the last; `rel="next"` is the next page. A full URL if the operator has set the public URL, else a path.
         * @example <https://api.example.com/v1/categories?limit=100&after=100>; rel="next"
         */
        Link: string;
        /**
         * @description The start of the deprecation, as a Unix timestamp in seconds (RFC 9745).
         * @example @1795305600
         */
        Deprecation: string;
        /**
         * @description The end of the operation (RFC 8594).
         * @example Tue, 30 Nov 2027 00:00:00 GMT
         */
        Sunset: string;
        /**
         * @description The explanation of the deprecation and the sunset.
         * @example </docs#deprecation>; rel="deprecation"; type="text/html", </docs#deprecation>; rel="sunset"; type="text/html"
         */
        DeprecationLink: string;
        /**
         * @description The number of seconds since the list was complete. Present only while the service cannot reach its database.
         * @example 4
         */
        Age: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listCategories: {
        parameters: {
            query?: {
                /**
                 * @description The maximum number of categories on the page; 100 with only `after`. Without `limit` and `after`, the response is the whole list.
                 * @example 1000
                 */
                limit?: number;
                /**
                 * @description Return categories with a larger `id`. The `Link` to the next page contains it.
                 * @example 0
                 */
                after?: number;
                /** @description Return only categories with exactly this name. Names need not be unique. */
                name?: string;
            };
            header?: {
                /**
                 * @description The `ETag` of your cached list, or several, separated by commas. If the list is unchanged in the
                 *     encoding of this response, the response is 304 without a body.
                 */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All categories. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "Content-Encoding": components["headers"]["Content-Encoding"];
                    Link: components["headers"]["Link"];
                    Age: components["headers"]["Age"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Ignored-Parameters": components["headers"]["X-Ignored-Parameters"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"][];
                };
            };
            /** @description The list still has an `ETag` in `If-None-Match`. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    Link: components["headers"]["Link"];
                    Age: components["headers"]["Age"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `limit` or `after` is not a number in its range, or the query of the URL is invalid. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createCategory: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A name that you choose for this request, such as a random UUID: 1 to 255 visible ASCII characters. It is scoped to your
                 *     account and kept for 24 hours, which a retry does not extend. Retrying the request with the same key cannot create a second category.
                 *
                 *     In Postman, set it to `{{$guid}}`. Otherwise every request repeats the first one.
                 *
                 *     Quotes around the whole key are optional and not part of it: `"a"` is the key `a`. Within quotes, escape quotes
                 *     and backslashes with a backslash.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The category to create, as one JSON object of at most 1 MiB. `Content-Type` is `application/json` or absent. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            /** @description The category was created; with `Idempotent-Replayed`, by an earlier request with the same key. */
            201: {
                headers: {
                    /**
                     * @description The path of the category.
                     * @example /v1/categories/4
                     */
                    Location: string;
                    /**
                     * @description Present, and `true`, if an earlier request with the same `Idempotency-Key` created the category.
                     * @example true
                     */
                    "Idempotent-Replayed"?: "true";
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
            /** @description The body or a header breaks a rule. Nothing was created. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["InProgress"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJSON"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getCategory: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of your cached category, or several. If the category still has it, the response is 304 without a body.
                 * @example "9b74c9897bac770ffc029102a200c5de"
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The `id` of the category.
                 * @example 4
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The category. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    Age: components["headers"]["Age"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
            /** @description The category still has an `ETag` in `If-None-Match`. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    Age: components["headers"]["Age"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteCategory: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The required `ETag` of the category, such as `"9b74c9897bac770ffc029102a200c5de"`, or several, or `*` for any. If the category has none of them,
                 *     it is not deleted, and the response is 412.
                 * @example *
                 */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description The `id` of the category.
                 * @example 4
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The category is deleted. There is no body. */
            204: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is an `Idempotency-Key`. Nothing was deleted. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["CategoryInUse"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateCategory: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The required `ETag` of the category, such as `"9b74c9897bac770ffc029102a200c5de"`, or several, or `*` for any. If the category has none of them,
                 *     it is not changed, and the response is 412.
                 * @example *
                 */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description The `id` of the category.
                 * @example 4
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        /**
         * @description The changes, as one JSON object of at most 1 MiB. `Content-Type` is `application/merge-patch+json`, `application/json`
         *     or absent.
         */
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["CategoryPatch"];
                "application/json": components["schemas"]["CategoryPatch"];
            };
        };
        responses: {
            /** @description The category after the change. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
            /** @description The body breaks a rule, or there is an `Idempotency-Key`. Nothing was changed. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["BodyTooLarge"];
            /** @description The headers declare a body that is not JSON, or that is compressed. */
            415: {
                headers: {
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    /**
                     * @description The accepted media types.
                     * @example application/merge-patch+json, application/json
                     */
                    "Accept-Patch"?: string;
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage of the account. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPets: {
        parameters: {
            query?: {
                /**
                 * @description Return only pets of this category. If the category does not exist, the list is empty.
                 * @example 1
                 */
                category_id?: number;
                /**
                 * @description The maximum number of pets on the page.
                 * @example 100
                 */
                limit?: number;
                /**
                 * @description Return elements with a larger `id`. The links of pages contain it.
                 * @example 3
                 */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of pets. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Ignored-Parameters": components["headers"]["X-Ignored-Parameters"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"][];
                };
            };
            /** @description A query parameter is not a number in its range, or the query of the URL is invalid. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A name that you choose for this request, with the same rules as in `createCategory`. It is scoped to your account, not to an operation,
                 *     and kept for 24 hours. Retrying the request with the same key cannot create a second pet.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The pet to create, as one JSON object of at most 1 MiB. `Content-Type` is `application/json` or absent. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPet"];
            };
        };
        responses: {
            /** @description The pet was created; with `Idempotent-Replayed`, by an earlier request with the same key. */
            201: {
                headers: {
                    /**
                     * @description Present, and `true`, if an earlier request with the same `Idempotency-Key` created the pet.
                     * @example true
                     */
                    "Idempotent-Replayed"?: "true";
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /** @description The body or a header breaks a rule. Nothing was created. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["InProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJSON"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPetById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the pet.
                 * @example 2
                 */
                petId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pet. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["DeprecationLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /** @description The pet does not exist, or was deleted. */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["DeprecationLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The operation ended on 2027-11-30. */
            410: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["DeprecationLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the pet.
                 * @example 2
                 */
                petId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pet is deleted. There is no body. */
            204: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is an `Idempotency-Key`. Nothing was deleted. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The pet does not exist, or was deleted. */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listOrders: {
        parameters: {
            query?: {
                /**
                 * @description The maximum number of orders on the page.
                 * @example 100
                 */
                limit?: number;
                /**
                 * @description Return elements with a larger `id`. The links of pages contain it.
                 * @example 3
                 */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Ignored-Parameters": components["headers"]["X-Ignored-Parameters"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"][];
                };
            };
            /** @description A query parameter is no number in its range, or the query of the URL cannot be read. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createOrder: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A name that you choose for this request, with the same rules as in `createCategory`. It is scoped to your account, not to an operation,
                 *     and kept for 24 hours. Retrying the request with the same key cannot create a second order.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The order to create, as one JSON object of at most 1 MiB. `Content-Type` is `application/json` or absent. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewOrder"];
            };
        };
        responses: {
            /** @description The order was created; with `Idempotent-Replayed`, by an earlier request with the same key. */
            201: {
                headers: {
                    /**
                     * @description Present, and `true`, if an earlier request with the same `Idempotency-Key` created the order.
                     * @example true
                     */
                    "Idempotent-Replayed"?: "true";
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description The body or a header breaks a rule. Nothing was created. */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Cache-Control": components["headers"]["NoStore"];
                    "X-Stability": components["headers"]["X-Stability"];
                    "X-Error-Field": components["headers"]["X-Error-Field"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["InProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJSON"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
