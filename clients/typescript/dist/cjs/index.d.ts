export type { CallOptions, PageOptions, Query, Result, Retry } from "./calls.js";
export { Petcat, version } from "./client.js";
export type { Categories, Category, CategoryPatch, ConditionOptions, CreateOptions, Key, KeyInfo, ListState, NewCategory, NewOrder, NewPet, Options, Order, Orders, Pet, Pets, RawCategories, RequestOptions, RotateOptions, RotatedKey, Usage, UsageEntry, UsageHistoryOptions, } from "./client.js";
export { AbortError, APIError, ConnectionError, PetcatError, type ErrorCode } from "./errors.js";
export type { Wait } from "./gate.js";
export { Mirror, type ChangedCategory, type ChangeOptions, type ChangePage } from "./mirror.js";
export type { Limits, Window } from "./limits.js";
export { verifyWebhook, WebhookError, type Event } from "./webhook.js";
