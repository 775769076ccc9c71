export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A class of pets. Members may be added; ignore unknown ones. */
        Category: {
            /**
             * Format: int64
             * @description Assigned by the service in ascending order of creation. Only after the operator restored a backup are later values reused. It fits in every JSON number type.
             */
            id: number;
            /** @description The name, as sent. */
            name: string;
            /** @description The description, as sent. Absent if the category has none. */
            description?: string;
        };
        /** @description The last change of a category. It has either `category` or `deleted`. */
        CategoryChange: {
            /**
             * Format: int64
             * @description The category.
             */
            id: number;
            category?: components["schemas"]["Category"];
            /**
             * @description The category does not exist any more.
             * @constant
             */
            deleted?: true;
        };
        /** @description A category to create. Unknown members are ignored, including `id`. */
        NewCategory: {
            /**
             * @description At most 1,000 characters (Unicode code points), not only white space, and no control
             *     characters. It is stored exactly as sent.
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
             * @description Assigned by the service in ascending order of creation. Only after the operator restored a backup are later values reused. It fits in every JSON number type.
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
             *     characters. It is stored exactly as sent.
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
             * @description Assigned by the service in ascending order of creation. Only after the operator restored a backup are later values reused. The orders of all accounts are numbered together,
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
             * @description The number of pets ordered.
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
                 * @description The window's quota.
                 */
                limit: number;
                /**
                 * Format: int64
                 * @description The number of requests counted. It can exceed `limit` after a change to a smaller plan or an outage.
                 */
                used: number;
                /**
                 * Format: int64
                 * @description The number of requests remaining.
                 */
                remaining: number;
                /**
                 * Format: int64
                 * @description When the window resets, as a Unix timestamp in seconds.
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
            key: components["schemas"]["Key"];
            /** @description The size of the account's categories, and its limits. */
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
                 * @description The number of categories.
                 */
                categories: number;
                /**
                 * Format: int64
                 * @description The maximum number of categories; the same maximum applies to pets and to orders.
                 */
                max_categories: number;
            };
        };
        /** @description The key of the request. Members may be added; ignore unknown ones. */
        Key: {
            /** @description The id by which the operator knows the key. It is not secret. */
            id: string;
            /** @description The label of the key; may be empty. */
            label: string;
            /** @description Whether the key is read-only; if so, changes get 403. */
            read_only: boolean;
            /**
             * Format: int64
             * @description When the key expires, as a Unix timestamp in seconds; `null`: never.
             */
            expires_at: number | null;
            /** @description The networks in which it works, in CIDR notation. Empty if it works everywhere. */
            networks: string[];
        };
        /** @description How a key is rotated. */
        Rotation: {
            /** @description How long both keys work, from 5 minutes to 30 days, such as `30m`, `24h` or `7d`; `24h` by default. */
            overlap?: string;
        };
        /** @description The successor of a key. Members may be added; ignore unknown ones. */
        RotatedKey: {
            /** @description The id of the successor. */
            id: string;
            /** @description That of the old key. */
            label: string;
            /** @description As the old key. */
            read_only: boolean;
            /**
             * Format: int64
             * @description When the key expires, as a Unix timestamp in seconds; `null`: never.
             */
            expires_at: number | null;
            /** @description Those of the old key. */
            networks: string[];
            /** @description The secret. Absent from the response to a repeated request, because the service stores only a hash of it. */
            key?: string;
            /** @description The id of the old key. */
            replaces: string;
            /**
             * Format: int64
             * @description When the old key expires, as a Unix timestamp in seconds.
             */
            replaced_until: number;
        };
        /** @description The usage of an hour or a day, or of a key or an operation in it. Members may be added; ignore unknown ones. */
        UsageEntry: {
            /**
             * Format: int64
             * @description When the period begins, as a Unix timestamp in seconds.
             */
            start: number;
            /** @description With `group=key`: the id of the key. Absent for requests beyond the 256 keys and operations that a node counts apart in an hour. */
            key?: string;
            /** @description With `group=operation`: its `operationId`. Absent if no operation matched, and for requests beyond those 256. */
            operation?: string;
            /**
             * Format: int64
             * @description The number of allowed requests.
             */
            requests: number;
            /**
             * Format: int64
             * @description The number of requests rejected by a quota or a ban.
             */
            rejected: number;
            /**
             * Format: int64
             * @description The number of 5xx responses; they may also count in `requests`.
             */
            failed: number;
        };
        /** @description An error. It has exactly these members. */
        Error: {
            /**
             * @description The kind of failure, for programs. The list under Errors contains every code of this version. Expect
             *     new codes, and treat an unknown one by its status.
             */
            code: "malformed_json" | "invalid_body" | "missing_field" | "invalid_field" | "missing_api_key" | "invalid_api_key" | "expired_api_key" | "revoked_api_key" | "disabled_api_key" | "forbidden" | "address_not_allowed" | "storage_limit_reached" | "not_found" | "method_not_allowed" | "request_timeout" | "idempotency_in_progress" | "category_in_use" | "conflict" | "operation_sunset" | "cursor_expired" | "precondition_failed" | "body_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limit_exceeded" | "daily_quota_exceeded" | "key_banned" | "too_many_failed_attempts" | "too_many_changes" | "internal_error" | "service_unavailable" | (string & {});
            /** @description The problem and the remedy, for people. The wording may change. */
            message: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
