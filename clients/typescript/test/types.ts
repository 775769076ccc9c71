// Compiled, not run: what the types promise.
import { APIError, Petcat, PetcatError, type Category, type ErrorCode } from "petcat";

const petcat = new Petcat({ maxRetries: 3, onRetry: ({ error, delayMs }) => console.log(error.message, delayMs) });
const category: Category = await petcat.categories.create({ name: "dog" }, { idempotencyKey: "a" });
const etag: string | undefined = category.etag;
await petcat.categories.update(category.id, { description: null }, { ...(etag && { ifMatch: etag }) });
for await (const { id, name } of petcat.categories.all({ pageSize: 10 })) console.log(id + 1, name.length);
const { value, status, requestId } = await petcat.categories.raw.get(1, { signal: AbortSignal.timeout(1000) });
console.log(value.name, status + 1, requestId?.length, petcat.limits?.reset.getTime());
await petcat.categories.update(category, { name: "dogs" });
await petcat.categories.list({ signal: undefined, timeoutMs: undefined });
const found = await petcat.request<Category[]>("GET", "/categories", { query: { name: "dog" } });
console.log(found.value[0]?.name);
const { windows, plan, storage } = await petcat.usage();
console.log(windows[0]?.remaining, plan === "free", storage.bytes);
const code: ErrorCode = "a_new_one";
try {
  await petcat.pets.create({ name: "Rex", category_id: 1 });
} catch (error) {
  if (error instanceof PetcatError && error.outcomeUnknown) console.log(error.message);
  if (error instanceof APIError && (error.code === "key_banned" || error.code === code)) console.log(error.retryAfterMs);
}
// @ts-expect-error: a create needs a name
await petcat.categories.create({ description: "no name" });
// @ts-expect-error: a name is not taken away
await petcat.categories.update(1, { name: null });
