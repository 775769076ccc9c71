"""The client and the operations of the service."""

from __future__ import annotations

import functools
import os
import platform
import re
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from ._calls import Call, Caller, CallOptions, Retry, Settings
from ._http import HTTPTransport, RawResponse, Transport
from ._limits import Limits
from ._models import UNSET, Category, ListState, Order, Pet, Response, Unset, Usage, list_of, one, read_usage

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

#: The version of this package.
__version__ = "1.0.0"

P = ParamSpec("P")
T = TypeVar("T")


class Petcat:
    """Calls one service with one key. Create one and share it between threads: each client has its
    own gate.

    max_wait is the maximum wait for the end of a window or a ban, in seconds. It does not limit
    the wait behind earlier calls: after a 429, up to a minute for each."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = 8,
        max_wait: float = 120.0,
        timeout: float = 30.0,
        app_name: str | None = None,
        transport: Transport | None = None,
        on_retry: Callable[[Retry], object] | None = None,
    ) -> None:
        key = _checked_key(os.environ.get("PETCAT_API_KEY", "") if api_key is None else api_key)
        base = _checked_url(os.environ.get("PETCAT_URL", "") if base_url is None else base_url)
        user_agent = f"petcat-python/{__version__} (Python {platform.python_version()}; {platform.system()}) {app_name or ''}".rstrip()
        self._transport: Transport = transport or HTTPTransport(base)
        self._caller = Caller(
            base,
            # No attribute contains the key, so that no printed client shows it.
            lambda: {"Authorization": "Bearer " + key, "User-Agent": user_agent, "Accept": "application/json"},
            self._transport,
            Settings(max_retries, max_wait, timeout, on_retry),
        )
        self.categories = Categories(self._caller)
        self.pets = Pets(self._caller)
        self.orders = Orders(self._caller)

    @property
    def limits(self) -> Limits | None:
        """The account's limits in the last response that had them."""
        return self._caller.limits

    def usage(self, **options: Unpack[CallOptions]) -> Usage:
        """Returns the account's use of its quotas. The request does not count against them. If the
        service allows requests again, waiting calls continue at once."""

        def result(value: object, _: RawResponse) -> Usage:
            usage = read_usage(value)
            if usage.ban is None and usage.windows and all(window.remaining for window in usage.windows):
                self._caller.gate.reopen()
            return usage

        return self._caller.call(Call("GET", "/usage", result, counted=False, options=options)).value

    def close(self) -> None:
        """Closes the connections."""
        if isinstance(self._transport, HTTPTransport):
            self._transport.close()

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
        body = {"name": name} if description is None else {"name": name, "description": description}
        headers = _idempotency(idempotency_key)
        return self._caller.call(Call("POST", "/categories", one(Category), body=body, headers=headers, options=options))

    def get(self, id: int, **options: Unpack[CallOptions]) -> Response[Category]:
        """Returns one category, with its ETag."""
        return self._caller.call(Call("GET", _path("/categories", id), one(Category), options=options))

    def update(
        self,
        id: int,
        *,
        name: str | Unset = UNSET,
        description: str | None | Unset = UNSET,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Response[Category]:
        """Updates a category and returns the result. A description of None removes it. if_match is
        the ETag that the category must have."""
        body = {key: value for key, value in (("name", name), ("description", description)) if value is not UNSET}
        headers = {**_condition(if_match), "Content-Type": "application/merge-patch+json"}
        safe = if_match is not None
        return self._caller.call(Call("PATCH", _path("/categories", id), one(Category), {}, body, headers, repeatable=safe, options=options))

    def delete(self, id: int, *, if_match: str | None = None, **options: Unpack[CallOptions]) -> Response[None]:
        """Deletes a category. Raises Conflict if the account has pets of it."""
        return self._caller.call(Call("DELETE", _path("/categories", id), _nothing, headers=_condition(if_match), options=options))

    def list(self, **options: Unpack[CallOptions]) -> Response[list[Category]]:
        """Returns all categories by ascending id, from one response."""
        return self._caller.call(Call("GET", "/categories", list_of(Category), options=options))

    def list_if_changed(self, etag: str, **options: Unpack[CallOptions]) -> Response[ListState]:
        """Returns all categories and the list's ETag, or no categories if the list still has the
        given ETag. Start with ""."""

        def result(value: object, response: RawResponse) -> ListState:
            if response.status == 304:
                return ListState(None, etag)
            return ListState(list_of(Category)(value, response), response.headers.get("ETag", ""))

        headers = {"If-None-Match": etag} if etag else {}
        return self._caller.call(Call("GET", "/categories", result, headers=headers, options=options))


def _value(method: Callable[Concatenate[CategoriesWithRaw, P], Response[T]]) -> Callable[Concatenate[Categories, P], T]:
    """Converts a method so that it returns only the result."""

    @functools.wraps(method)
    def result(self: Categories, *args: P.args, **kwargs: P.kwargs) -> T:
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
        return self._caller.pages("/categories", Category, page_size, after, {}, options)


class Pets:
    """The operations on pets. Experimental."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(self, name: str, category_id: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Pet:
        """Creates a pet in a category."""
        headers = _idempotency(idempotency_key)
        body = {"name": name, "category_id": category_id}
        return self._caller.call(Call("POST", "/pets", one(Pet), body=body, headers=headers, options=options)).value

    def get(self, id: int, **options: Unpack[CallOptions]) -> Pet:
        """Returns one pet. Deprecated: the service removes this operation on 2027-11-30."""
        return self._caller.call(Call("GET", _path("/pets", id), one(Pet), options=options)).value

    def delete(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Deletes a pet of the account."""
        self._caller.call(Call("DELETE", _path("/pets", id), _nothing, options=options))

    def all(
        self, *, category_id: int | None = None, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]
    ) -> Iterator[Pet]:
        """Iterates over all pets, or the pets of a category."""
        query = {} if category_id is None else {"category_id": category_id}
        return self._caller.pages("/pets", Pet, page_size, after, query, options)


class Orders:
    """The operations on store orders. Experimental."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(self, pet_id: int, quantity: int, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]) -> Order:
        """Orders a pet."""
        headers = _idempotency(idempotency_key)
        body = {"pet_id": pet_id, "quantity": quantity}
        return self._caller.call(Call("POST", "/store/orders", one(Order), body=body, headers=headers, options=options)).value

    def all(self, *, page_size: int = 1000, after: int = 0, **options: Unpack[CallOptions]) -> Iterator[Order]:
        """Iterates over all orders of the account."""
        return self._caller.pages("/store/orders", Order, page_size, after, {}, options)


def _checked_key(key: str) -> str:
    if not key:
        raise ValueError("the API key is missing: set PETCAT_API_KEY, or pass api_key")
    if not re.fullmatch(r"[!-~]+", key) or key[0] in "\"'" or key[-1] in "\"'":
        raise ValueError("the API key has white space, quotes or characters that no key has: was it read with the end of its line, or its quotes?")
    return key


def _checked_url(url: str) -> str:
    """Returns the URL with /v1. Errors do not quote it: it may be the key, passed by mistake."""
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and re.fullmatch("[!-~]+", url)
    except ValueError:
        parts, valid = urllib.parse.urlsplit(""), None
    if not valid:
        raise ValueError("the URL of the service must be like https://petcat.example.com/v1: set PETCAT_URL, or pass base_url")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise ValueError("the URL of the service must have no user, query or fragment; the key is api_key")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith('/v1') else path + '/v1'}"


def _path(of: str, id: int) -> str:
    if type(id) is not int or id < 1:
        raise ValueError("an id is a positive whole number")
    return f"{of}/{id}"


def _condition(if_match: str | None) -> dict[str, str]:
    if if_match is not None and not re.fullmatch("[!-~]+", if_match):
        raise ValueError("if_match must be an ETag that the service gave; leave it out to change whatever is there")
    return {} if if_match is None else {"If-Match": if_match}


def _idempotency(key: str | None) -> dict[str, str]:
    if key is not None and not re.fullmatch("[!-~]{1,255}", key):
        raise ValueError("idempotency_key must be 1 to 255 visible ASCII characters; leave it out, and each create gets its own")
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def _nothing(_value: object, _response: RawResponse) -> None: ...
