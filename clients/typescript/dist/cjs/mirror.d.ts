import { type Caller, type CallOptions } from "./calls.js";
import type { Category } from "./client.js";
/** The last change of a category. */
export interface ChangedCategory {
    id: number;
    /** Undefined if the category was deleted. */
    category?: Category;
}
/** A page of changes, in their order. Each category is in it once. */
export interface ChangePage {
    changes: ChangedCategory[];
    /** Later changes follow it. */
    bookmark: string;
}
export interface ChangeOptions extends CallOptions {
    /** The one of the last page that you have. Without it, all categories are changes. */
    bookmark?: string | undefined;
    /** The maximum number of changes, 1 to 1,000. */
    pageSize?: number | undefined;
}
/** @internal */
export declare function changes(caller: Caller, { bookmark, pageSize, ...options }: ChangeOptions): AsyncGenerator<ChangePage, void>;
/** A copy of all categories. `categories.mirror()` makes one. */
export declare class Mirror {
    #private;
    /** @internal */
    constructor(caller: Caller);
    /** All categories by id, as of the last refresh, which replaces the map. */
    get categories(): ReadonlyMap<number, Category>;
    /**
     * Brings the copy up to date, and returns whether there were changes. It takes one request, and one more for each
     * 1,000 changes. If the bookmark has expired, it reads all categories again. After an error, the copy is as before.
     */
    refresh(options?: CallOptions): Promise<boolean>;
    /** Returns the copy and its bookmark as one JSON document. The clients for other languages have the same format. */
    save(): string;
    /** Replaces the copy by one that `save` has returned. After an error, the copy is as before. */
    load(text: string): void;
}
