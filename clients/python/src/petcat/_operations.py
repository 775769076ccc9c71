"""The calls of the operations, for both kinds of clients."""

from __future__ import annotations

import os
import platform
import re
import sys
import urllib.parse
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from ._calls import Call, CallOptions, Core, Retry, Settings
from ._errors import AuthenticationError
from ._gate import Wait
from ._models import (
    UNSET,
    Category,
    KeyInfo,
    ListState,
    Order,
    Pet,
    RawResponse,
    RotatedKey,
    Unexpected,
    Unset,
    Usage,
    UsageEntry,
    elements,
    list_of,
    one,
    read,
    read_usage,
)

if sys.version_info >= (3, 11):
    from typing import Self as Self, Unpack as Unpack
else:
    from typing_extensions import Self as Self, Unpack as Unpack

#: The version of this package.
__version__ = "1.0.0"


def settings(
    base_url: str | None,
    max_retries: int,
    max_wait: float,
    timeout: float,
    deadline: float | None,
    app_name: str | None,
    on_retry: Callable[[Retry], object] | None,
    on_wait: Callable[[Wait], object] | None,
) -> Settings:
    base = _checked_url(os.environ.get("PETCAT_URL", "") if base_url is None else base_url)
    user_agent = f"petcat-python/{__version__} (Python {platform.python_version()}; {platform.system()}) {app_name or ''}".rstrip()
    return Settings(base, user_agent, max_retries, max_wait, timeout, deadline, on_retry, on_wait)


def bearer(api_key: str | None) -> Callable[[httpx.Request], httpx.Request]:
    """Returns the function that sets the key. Attributes do not contain the key, so that no printed
    client shows it."""
    key = _checked_key(os.environ.get("PETCAT_API_KEY", "") if api_key is None else api_key)

    def authorize(request: httpx.Request) -> httpx.Request:
        request.headers["Authorization"] = "Bearer " + key
        return request

    return authorize


def create_category(name: str, description: str | None, idempotency_key: str | None, options: CallOptions) -> Call[Category]:
    body = {"name": name} if description is None else {"name": name, "description": description}
    return Call("POST", "/categories", one(Category), options, body=body, headers=_idempotency(idempotency_key))


def get_category(id: int, options: CallOptions) -> Call[Category]:
    return Call("GET", _path("/categories", id), one(Category), options)


def update_category(
    category: int | Category, name: str | Unset, description: str | None | Unset, if_match: str | None, options: CallOptions
) -> Call[Category]:
    body = {key: value for key, value in (("name", name), ("description", description)) if value is not UNSET}
    headers = {**_condition(category, if_match), "Content-Type": "application/merge-patch+json"}
    return Call("PATCH", _path("/categories", category), one(Category), options, body=body, headers=headers)


def delete_category(category: int | Category, if_match: str | None, options: CallOptions) -> Call[None]:
    return Call("DELETE", _path("/categories", category), _nothing, options, headers=_condition(category, if_match))


def list_categories(name: str | None, options: CallOptions) -> Call[list[Category]]:
    return Call("GET", "/categories", list_of(Category), options, {} if name is None else {"name": name})


def list_categories_if_changed(etag: str, options: CallOptions) -> Call[ListState]:
    def result(value: object, raw: RawResponse) -> ListState:
        if raw.status == 304:
            return ListState(None, etag)
        return ListState(list_of(Category)(value, raw), raw.headers.get("ETag", ""))

    return Call("GET", "/categories", result, options, headers={"If-None-Match": etag} if etag else {})


def create_pet(name: str, category_id: int, idempotency_key: str | None, options: CallOptions) -> Call[Pet]:
    body = {"name": name, "category_id": category_id}
    return Call("POST", "/pets", one(Pet), options, body=body, headers=_idempotency(idempotency_key))


def get_pet(id: int, options: CallOptions) -> Call[Pet]:
    return Call("GET", _path("/pets", id), one(Pet), options)


def delete_pet(id: int, options: CallOptions) -> Call[None]:
    return Call("DELETE", _path("/pets", id), _nothing, options)


def create_order(pet_id: int, quantity: int, idempotency_key: str | None, options: CallOptions) -> Call[Order]:
    body = {"pet_id": pet_id, "quantity": quantity}
    return Call("POST", "/store/orders", one(Order), options, body=body, headers=_idempotency(idempotency_key))


def get_usage(core: Core, options: CallOptions) -> Call[Usage]:
    def result(value: object, _: RawResponse) -> Usage:
        usage = read_usage(value)
        if usage.ban is None and usage.windows and all(window.remaining for window in usage.windows):
            core.gate.reopen()
        return usage

    return Call("GET", "/usage", result, options)


def get_usage_history(by: str | None, from_: int | None, to: int | None, group: str | None, options: CallOptions) -> Call[list[UsageEntry]]:
    def result(value: object, _: RawResponse) -> list[UsageEntry]:
        return [read(UsageEntry, entry) for entry in elements(value)]

    query = {"by": by, "from": from_, "to": to, "group": group}
    return Call("GET", "/usage/history", result, options, {name: value for name, value in query.items() if value is not None})


def get_key(options: CallOptions) -> Call[KeyInfo]:
    return Call("GET", "/key", lambda value, _: read(KeyInfo, value), options)


def rotate_key(overlap: str | None, idempotency_key: str | None, options: CallOptions) -> Call[RotatedKey]:
    def result(value: object, raw: RawResponse) -> RotatedKey:
        return read(RotatedKey, value, replayed=raw.headers.get("Idempotent-Replayed") == "true")

    body = {} if overlap is None else {"overlap": overlap}
    return Call("POST", "/key/rotate", result, options, body=body, headers=_idempotency(idempotency_key))


def revoke_key(idempotency_key: str | None, options: CallOptions) -> Call[KeyInfo]:
    return Call("POST", "/key/revoke", lambda value, _: read(KeyInfo, value), options, headers=_idempotency(idempotency_key))


def is_revoked(error: AuthenticationError) -> bool:
    """Returns whether an earlier request of a call, whose response was lost, revoked the key."""
    return error.code == "revoked_api_key" and error.outcome_unknown


def any_request(method: str, path: str, query: Mapping[str, object] | None, body: object, options: CallOptions) -> Call[Any]:
    if not re.fullmatch("[A-Z]+", method) or not re.fullmatch("/[!-~]*", path) or "?" in path or "#" in path:
        raise ValueError('a request has a method such as "GET", and a path below /v1 such as "/categories", without a query')
    headers = httpx.Headers(options.get("headers", {}))
    if method == "POST" and "Idempotency-Key" not in headers:
        headers.update(_idempotency(None))
    if method == "PATCH" and "Content-Type" not in headers:
        headers["Content-Type"] = "application/merge-patch+json"
    return Call(method, path, _json, options, query or {}, body, headers)


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
        raise ValueError("the service URL must look like https://petcat.example.com/v1: set PETCAT_URL, or pass base_url")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise ValueError("the URL of the service must have no user, query or fragment; the key is api_key")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith('/v1') else path + '/v1'}"


def _path(of: str, resource: int | Category) -> str:
    id = resource.id if isinstance(resource, Category) else resource
    if type(id) is not int or id < 1:
        raise ValueError("an id is a positive whole number")
    return f"{of}/{id}"


def _condition(category: int | Category, if_match: str | None) -> dict[str, str]:
    if if_match is None and isinstance(category, Category):
        if not category.etag:
            raise ValueError("a category of a list has no ETag: get it, or pass its id to change whatever is there")
        if_match = category.etag
    if if_match is not None and not re.fullmatch("[!-~]+", if_match):
        raise ValueError("if_match must be an ETag that the service gave; leave it out to change whatever is there")
    return {} if if_match is None else {"If-Match": if_match}


def _idempotency(key: str | None) -> dict[str, str]:
    if key is not None and not re.fullmatch("[!-~]{1,255}", key):
        raise ValueError("idempotency_key must be 1 to 255 visible ASCII characters; leave it out, and each create gets its own")
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def _nothing(_: object, raw: RawResponse) -> None:
    if raw.status not in (204, 404):  # 404: an earlier request of the call deleted it
        raise Unexpected


def _json(value: object, raw: RawResponse) -> object:
    if value is None and raw.status not in (204, 304, 404):
        raise Unexpected
    return value
