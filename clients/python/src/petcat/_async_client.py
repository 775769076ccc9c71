"""The client for async code. ``_client.py`` has the same operations for threads."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from ._calls import CallOptions, Pages, Retry
from ._errors import AuthenticationError
from ._gate import Wait
from ._limits import Limits
from ._mirror import AsyncMirror, ChangePage, Changes, iterate_async
from ._models import UNSET, Category, E, KeyInfo, ListState, Order, Pet, Response, RotatedKey, Unset, Usage, UsageEntry
from ._operations import (
    Self,
    Unpack,
    any_request,
    bearer,
    create_category,
    create_order,
    create_pet,
    delete_category,
    delete_pet,
    get_category,
    get_key,
    get_pet,
    get_usage,
    get_usage_history,
    is_revoked,
    list_categories,
    list_categories_if_changed,
    revoke_key,
    rotate_key,
    settings,
    update_category,
)
from ._transport import LIMITS, AsyncCaller

P = ParamSpec("P")
T = TypeVar("T")


def new_http() -> httpx.AsyncClient:
    return httpx.AsyncClient(limits=LIMITS)


class AsyncPetcat:
    """Calls one service with one key, with asyncio or trio. Create one for each event loop and share
    it between its tasks: each client has its own gate.

    The parameters are those of Petcat. timeout is the maximum time of a request with its whole
    response, and http_client returns an httpx.AsyncClient.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = 8,
        max_wait: float = 120.0,
        timeout: float = 30.0,
        deadline: float | None = None,
        app_name: str | None = None,
        http_client: Callable[[], httpx.AsyncClient] = new_http,
        on_retry: Callable[[Retry], object] | None = None,
        on_wait: Callable[[Wait], object] | None = None,
    ) -> None:
        auth = bearer(api_key)
        own = settings(base_url, max_retries, max_wait, timeout, deadline, app_name, on_retry, on_wait)
        self._base_url = own.base_url
        self._caller = AsyncCaller(own, auth, http_client)
        self.categories = AsyncCategories(self._caller)
        self.pets = AsyncPets(self._caller)
        self.orders = AsyncOrders(self._caller)
        self.key = AsyncKey(self._caller)

    def __repr__(self) -> str:
        return f"AsyncPetcat({self._base_url!r})"

    @property
    def limits(self) -> Limits | None:
        """The account's limits in the last response that had them."""
        return self._caller.context.current()[0].limits

    async def usage(self, **options: Unpack[CallOptions]) -> Usage:
        """Returns the account's use of its quotas and of its storage. The request does not count
        against the quotas. If the service allows requests again, waiting calls continue at once."""
        return (await self._caller(get_usage(self._caller.context.current()[0], options))).value

    async def usage_history(
        self,
        *,
        by: str | None = None,
        from_: int | None = None,
        to: int | None = None,
        group: str | None = None,
        **options: Unpack[CallOptions],
    ) -> list[UsageEntry]:
        """Returns the account's requests by "day" or "hour", without empty periods; with group "key" or
        "operation", what used them up. At most 168 hours or 92 days, from_ and to in Unix seconds. The
        request does not count against the quotas."""
        return (await self._caller(get_usage_history(by, from_, to, group, options))).value

    async def request(
        self, method: str, path: str, *, query: Mapping[str, object] | None = None, json: object = None, **options: Unpack[CallOptions]
    ) -> Response[Any]:
        """Sends any request, with the retries and limits of the other methods, and returns the
        decoded JSON with the response. path is below /v1, such as "/categories". A POST gets an
        Idempotency-Key, unless headers has one."""
        return await self._caller(any_request(method, path, query, json, options))

    async def close(self) -> None:
        """Closes the connections."""
        await self._caller.context.current()[1].aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncCategoriesWithRaw:
    """The operations on categories. Each returns its result with the response."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(
        self, name: str, description: str | None = None, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]
    ) -> Response[Category]:
        """Creates a category. When it returns, the category is on the service's disk. Pass an
        idempotency_key if your program may repeat the create, for example after a restart."""
        return await self._caller(create_category(name, description, idempotency_key, options))

    async def get(self, id: int, **options: Unpack[CallOptions]) -> Response[Category]:
        """Returns one category, with its ETag."""
        return await self._caller(get_category(id, options))

    async def update(
        self,
        category: int | Category,
        *,
        name: str | Unset = UNSET,
        description: str | None | Unset = UNSET,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Response[Category]:
        """Updates a category and returns the result. A description of None removes it. If you pass
        the category instead of its id, it must still have its ETag, or the ETag in if_match. Without
        a condition, the last change wins, and a request without a response is not retried."""
        return await self._caller(update_category(category, name, description, if_match, options))

    async def delete(self, category: int | Category, *, if_match: str | None = None, **options: Unpack[CallOptions]) -> Response[None]:
        """Deletes a category. Raises Conflict if the account has pets of it. If you pass the
        category instead of its id, it must still have its ETag, or the ETag in if_match."""
        return await self._caller(delete_category(category, if_match, options))

    async def list(self, *, name: str | None = None, **options: Unpack[CallOptions]) -> Response[list[Category]]:
        """Returns all categories by ascending id, from one response; with a name, only those with
        exactly this name."""
        return await self._caller(list_categories(name, options))

    async def list_if_changed(self, etag: str, **options: Unpack[CallOptions]) -> Response[ListState]:
        """Returns all categories and the list's ETag, or no categories if the list still has the
        given ETag. Start with ""."""
        return await self._caller(list_categories_if_changed(etag, options))


def _value(
    method: Callable[Concatenate[AsyncCategoriesWithRaw, P], Coroutine[Any, Any, Response[T]]],
) -> Callable[Concatenate[AsyncCategories, P], Coroutine[Any, Any, T]]:
    """Converts a method so that it returns only the result."""

    @functools.wraps(method)
    async def result(self: AsyncCategories, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await method(self.with_raw, *args, **kwargs)).value

    return result


class AsyncCategories:
    """The operations on categories. All accounts share one list of them."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller
        #: The same operations, each returning a Response: result, status, headers, limits.
        self.with_raw = AsyncCategoriesWithRaw(caller)

    create = _value(AsyncCategoriesWithRaw.create)
    get = _value(AsyncCategoriesWithRaw.get)
    update = _value(AsyncCategoriesWithRaw.update)
    delete = _value(AsyncCategoriesWithRaw.delete)
    list = _value(AsyncCategoriesWithRaw.list)
    list_if_changed = _value(AsyncCategoriesWithRaw.list_if_changed)

    def all(self, *, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]) -> AsyncIterator[Category]:
        """Iterates over all categories, reading them in pages."""
        return _all(self._caller, Pages("/categories", Category, page_size, after, {}, options))

    def changes(self, bookmark: str = "", *, page_size: int = 1000, **options: Unpack[CallOptions]) -> AsyncIterator[ChangePage]:
        """Iterates over the pages of categories that changed after a bookmark; "" means all. There is at
        least one page. If the bookmark has expired, the error has the code cursor_expired: begin with "".
        A mirror does all that."""
        return iterate_async(self._caller, Changes(bookmark, page_size, options))

    def mirror(self) -> AsyncMirror:
        """Returns an empty copy of all categories, which its refresh fills and keeps current."""
        return AsyncMirror(self._caller)


class AsyncKey:
    """The key that the client uses. A read-only key may do all of this."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def get(self, **options: Unpack[CallOptions]) -> KeyInfo:
        """Returns the key. The request does not count against the limits. It counts as a use of the
        key: send it with the successor after a rotation."""
        return (await self._caller(get_key(options))).value

    async def rotate(
        self, overlap: str | None = None, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]
    ) -> RotatedKey:
        """Replaces the key and returns its successor. Store it, and call get with a client that uses
        it. Both keys work until the overlap ends, from "5m" to "30d", "24h" by default. If the
        response with the secret was lost, the key is rotated again, up to 5 seconds later, and the
        lost key is revoked; not if you pass an idempotency_key."""
        while True:
            rotated = (await self._caller(rotate_key(overlap, idempotency_key, options))).value
            if not rotated.replayed or idempotency_key is not None:
                return rotated

    async def revoke(self, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> None:
        """Revokes the key permanently."""
        try:
            await self._caller(revoke_key(idempotency_key, options))
        except AuthenticationError as error:
            if not is_revoked(error):
                raise


class AsyncPets:
    """The operations on pets. Experimental."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(self, name: str, category_id: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Pet:
        """Creates a pet in a category."""
        return (await self._caller(create_pet(name, category_id, idempotency_key, options))).value

    async def get(self, id: int, **options: Unpack[CallOptions]) -> Pet:
        """Returns one pet. Deprecated: the service removes this operation on 2027-11-30."""
        return (await self._caller(get_pet(id, options))).value

    async def delete(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Deletes a pet of the account."""
        await self._caller(delete_pet(id, options))

    def all(
        self, *, category_id: int | None = None, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]
    ) -> AsyncIterator[Pet]:
        """Iterates over all pets, or the pets of a category."""
        query = {} if category_id is None else {"category_id": category_id}
        return _all(self._caller, Pages("/pets", Pet, page_size, after, query, options))


class AsyncOrders:
    """The operations on store orders. Experimental."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(self, pet_id: int, quantity: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Order:
        """Orders a pet."""
        return (await self._caller(create_order(pet_id, quantity, idempotency_key, options))).value

    def all(self, *, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]) -> AsyncIterator[Order]:
        """Iterates over all orders of the account."""
        return _all(self._caller, Pages("/store/orders", Order, page_size, after, {}, options))


async def _all(caller: AsyncCaller, pages: Pages[E]) -> AsyncIterator[E]:
    while call := pages.call:
        for element in pages.read(await caller(call)):
            yield element
