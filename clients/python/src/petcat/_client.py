"""The client for threads. ``_async_client.py`` has the same operations for async."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from ._calls import CallOptions, Pages, Retry
from ._errors import AuthenticationError
from ._gate import Wait
from ._limits import Limits
from ._mirror import ChangePage, Changes, Mirror, iterate
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
from ._transport import LIMITS, Caller

P = ParamSpec("P")
T = TypeVar("T")


def new_http() -> httpx.Client:
    return httpx.Client(limits=LIMITS)


class Petcat:
    """Calls one service with one key. Create one and share it between threads: each client has its
    own gate. A forked process that uses it gets its own connections and its own gate.

    :param api_key: default: the environment variable PETCAT_API_KEY
    :param base_url: with or without /v1; default: the environment variable PETCAT_URL
    :param max_retries: the maximum number of retries of a call
    :param max_wait: the maximum wait for the end of a window or a ban, in seconds. It does not limit
        the wait behind earlier calls: after a 429, up to a minute for each.
    :param timeout: of each request with its whole response, in seconds. It is checked after each step
        and each part of the body, so a server that sends its headers byte by byte, or a name with
        several dead addresses, takes longer.
    :param deadline: of each call with its waits and retries, in seconds; None: none
    :param app_name: the calling program, such as "acme/1.2", for the User-Agent
    :param http_client: a function that returns the httpx client that sends the requests, for
        certificates, proxies and tests; called once for each process
    :param on_retry: called before each retry
    :param on_wait: called before a call waits more than a second for the limits
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
        http_client: Callable[[], httpx.Client] = new_http,
        on_retry: Callable[[Retry], object] | None = None,
        on_wait: Callable[[Wait], object] | None = None,
    ) -> None:
        auth = bearer(api_key)
        own = settings(base_url, max_retries, max_wait, timeout, deadline, app_name, on_retry, on_wait)
        self._base_url = own.base_url
        self._caller = Caller(own, auth, http_client)
        self.categories = Categories(self._caller)
        self.pets = Pets(self._caller)
        self.orders = Orders(self._caller)
        self.key = Key(self._caller)

    def __repr__(self) -> str:
        return f"Petcat({self._base_url!r})"

    @property
    def limits(self) -> Limits | None:
        """The account's limits in the last response that had them."""
        return self._caller.context.current()[0].limits

    def usage(self, **options: Unpack[CallOptions]) -> Usage:
        """Returns the account's use of its quotas and of its storage. The request does not count
        against the quotas. If the service allows requests again, waiting calls continue at once."""
        return self._caller(get_usage(self._caller.context.current()[0], options)).value

    def usage_history(
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
        return self._caller(get_usage_history(by, from_, to, group, options)).value

    def request(
        self, method: str, path: str, *, query: Mapping[str, object] | None = None, json: object = None, **options: Unpack[CallOptions]
    ) -> Response[Any]:
        """Sends any request, with the retries and limits of the other methods, and returns the
        decoded JSON with the response. path is below /v1, such as "/categories". A POST gets an
        Idempotency-Key, unless headers has one."""
        return self._caller(any_request(method, path, query, json, options))

    def close(self) -> None:
        """Closes the connections."""
        self._caller.context.current()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CategoriesWithRaw:
    """The operations on categories. Each returns its result with the response."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self, name: str, description: str | None = None, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]
    ) -> Response[Category]:
        """Creates a category. When it returns, the category is on the service's disk. Pass an
        idempotency_key if your program may repeat the create, for example after a restart."""
        return self._caller(create_category(name, description, idempotency_key, options))

    def get(self, id: int, **options: Unpack[CallOptions]) -> Response[Category]:
        """Returns one category, with its ETag."""
        return self._caller(get_category(id, options))

    def update(
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
        return self._caller(update_category(category, name, description, if_match, options))

    def delete(self, category: int | Category, *, if_match: str | None = None, **options: Unpack[CallOptions]) -> Response[None]:
        """Deletes a category. Raises Conflict if the account has pets of it. If you pass the
        category instead of its id, it must still have its ETag, or the ETag in if_match."""
        return self._caller(delete_category(category, if_match, options))

    def list(self, *, name: str | None = None, **options: Unpack[CallOptions]) -> Response[list[Category]]:
        """Returns all categories by ascending id, from one response; with a name, only those with
        exactly this name."""
        return self._caller(list_categories(name, options))

    def list_if_changed(self, etag: str, **options: Unpack[CallOptions]) -> Response[ListState]:
        """Returns all categories and the list's ETag, or no categories if the list still has the
        given ETag. Start with ""."""
        return self._caller(list_categories_if_changed(etag, options))


def _value(method: Callable[Concatenate[CategoriesWithRaw, P], Response[T]]) -> Callable[Concatenate[Categories, P], T]:
    """Converts a method so that it returns only the result."""

    @functools.wraps(method)
    def result(self: Categories, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.with_raw, *args, **kwargs).value

    return result


class Categories:
    """The operations on categories. All accounts share one list of them."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        #: The same operations, each returning a Response: result, status, headers, limits.
        self.with_raw = CategoriesWithRaw(caller)

    create = _value(CategoriesWithRaw.create)
    get = _value(CategoriesWithRaw.get)
    update = _value(CategoriesWithRaw.update)
    delete = _value(CategoriesWithRaw.delete)
    list = _value(CategoriesWithRaw.list)
    list_if_changed = _value(CategoriesWithRaw.list_if_changed)

    def all(self, *, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]) -> Iterator[Category]:
        """Iterates over all categories, reading them in pages."""
        return _all(self._caller, Pages("/categories", Category, page_size, after, {}, options))

    def changes(self, bookmark: str = "", *, page_size: int = 1000, **options: Unpack[CallOptions]) -> Iterator[ChangePage]:
        """Iterates over the pages of categories that changed after a bookmark; "" means all. There is at
        least one page. If the bookmark has expired, the error has the code cursor_expired: begin with "".
        A mirror does all that."""
        return iterate(self._caller, Changes(bookmark, page_size, options))

    def mirror(self) -> Mirror:
        """Returns an empty copy of all categories, which its refresh fills and keeps current."""
        return Mirror(self._caller)


class Key:
    """The key that the client uses. A read-only key may do all of this."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def get(self, **options: Unpack[CallOptions]) -> KeyInfo:
        """Returns the key. The request does not count against the limits. It counts as a use of the
        key: send it with the successor after a rotation."""
        return self._caller(get_key(options)).value

    def rotate(
        self, overlap: str | None = None, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]
    ) -> RotatedKey:
        """Replaces the key and returns its successor. Store it, and call get with a client that uses
        it. Both keys work until the overlap ends, from "5m" to "30d", "24h" by default. If the
        response with the secret was lost, the key is rotated again, up to 5 seconds later, and the
        lost key is revoked; not if you pass an idempotency_key."""
        while True:
            rotated = self._caller(rotate_key(overlap, idempotency_key, options)).value
            if not rotated.replayed or idempotency_key is not None:
                return rotated

    def revoke(self, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> None:
        """Revokes the key permanently."""
        try:
            self._caller(revoke_key(idempotency_key, options))
        except AuthenticationError as error:
            if not is_revoked(error):
                raise


class Pets:
    """The operations on pets. Experimental."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(self, name: str, category_id: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Pet:
        """Creates a pet in a category."""
        return self._caller(create_pet(name, category_id, idempotency_key, options)).value

    def get(self, id: int, **options: Unpack[CallOptions]) -> Pet:
        """Returns one pet. Deprecated: the service removes this operation on 2027-11-30."""
        return self._caller(get_pet(id, options)).value

    def delete(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Deletes a pet of the account."""
        self._caller(delete_pet(id, options))

    def all(
        self, *, category_id: int | None = None, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]
    ) -> Iterator[Pet]:
        """Iterates over all pets, or the pets of a category."""
        query = {} if category_id is None else {"category_id": category_id}
        return _all(self._caller, Pages("/pets", Pet, page_size, after, query, options))


class Orders:
    """The operations on store orders. Experimental."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(self, pet_id: int, quantity: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Order:
        """Orders a pet."""
        return self._caller(create_order(pet_id, quantity, idempotency_key, options)).value

    def all(self, *, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]) -> Iterator[Order]:
        """Iterates over all orders of the account."""
        return _all(self._caller, Pages("/store/orders", Order, page_size, after, {}, options))


def _all(caller: Caller, pages: Pages[E]) -> Iterator[E]:
    while call := pages.call:
        yield from pages.read(caller(call))
