"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Mirror = void 0;
exports.changes = changes;
const calls_js_1 = require("./calls.js");
const errors_js_1 = require("./errors.js");
/** @internal */
async function* changes(caller, { bookmark, pageSize = 1000, ...options }) {
    const read = (value, { headers }) => {
        const found = (0, calls_js_1.listOf)(value);
        const cursor = nextCursor(headers.get("Link") ?? "");
        return found && cursor ? { changes: found, bookmark: cursor } : undefined;
    };
    for (let after = bookmark;;) {
        const query = { limit: pageSize, after: after || undefined };
        const { value } = await caller.call({ method: "GET", path: "/categories/changes", read, query, options });
        yield value;
        if (value.changes.length < pageSize)
            return;
        after = value.bookmark;
    }
}
/** Returns the parameter `after` in the link to the next page. The host in the link does not matter. */
function nextCursor(link) {
    const target = /<([^>]*)>[^<]*;\s*rel="?next\b/.exec(link)?.[1];
    return new URLSearchParams(target?.split("?")[1]).get("after") ?? undefined;
}
/** A copy of all categories. `categories.mirror()` makes one. */
class Mirror {
    #caller;
    #bookmark = "";
    #categories = new Map();
    #refreshing = Promise.resolve();
    /** @internal */
    constructor(caller) {
        this.#caller = caller;
    }
    /** All categories by id, as of the last refresh, which replaces the map. */
    get categories() {
        return this.#categories;
    }
    /**
     * Brings the copy up to date, and returns whether there were changes. It takes one request, and one more for each
     * 1,000 changes. If the bookmark has expired, it reads all categories again. After an error, the copy is as before.
     */
    async refresh(options = {}) {
        const done = this.#refreshing.then(() => this.#refresh(options));
        this.#refreshing = done.catch(() => undefined);
        return done;
    }
    async #refresh(options) {
        try {
            return await this.#follow(this.#bookmark, this.#categories, options);
        }
        catch (error) {
            if (!this.#bookmark || !(error instanceof errors_js_1.APIError) || error.code !== "cursor_expired")
                throw error;
            await this.#follow("", new Map(), options);
            return true;
        }
    }
    async #follow(bookmark, before, options) {
        const after = new Map(before);
        let changed = false;
        for await (const page of changes(this.#caller, { ...options, bookmark })) {
            bookmark = page.bookmark;
            for (const { id, category } of page.changes) {
                changed = true;
                if (category)
                    after.set(id, category);
                else
                    after.delete(id);
            }
        }
        if (changed || before !== this.#categories)
            this.#categories = after;
        this.#bookmark = bookmark;
        return changed;
    }
    /** Returns the copy and its bookmark as one JSON document. The clients for other languages have the same format. */
    save() {
        const categories = [...this.#categories.values()].sort((a, b) => a.id - b.id);
        return JSON.stringify({ bookmark: this.#bookmark, categories });
    }
    /** Replaces the copy by one that `save` has returned. After an error, the copy is as before. */
    load(text) {
        const file = parsed(text);
        const categories = (0, calls_js_1.listOf)(file?.categories);
        if (!categories || typeof file?.bookmark !== "string") {
            throw new TypeError("this is not a mirror that save has returned; refresh an empty one");
        }
        this.#categories = new Map(categories.map((category) => [category.id, category]));
        this.#bookmark = file.bookmark;
    }
}
exports.Mirror = Mirror;
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return null;
    }
}
