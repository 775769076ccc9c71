"""The results of calls. Unknown JSON members are ignored: later versions of the service may add some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from httpx import Headers

from ._limits import Limits

T = TypeVar("T")


class Unset(Enum):
    UNSET = "UNSET"


@dataclass(frozen=True)
class RawResponse:
    """A response with its whole body."""

    status: int
    headers: Headers
    body: bytes


#: An update leaves a member with this value unchanged.
UNSET = Unset.UNSET


@dataclass(frozen=True)
class Response(Generic[T]):
    """A result and its response."""

    value: T
    status: int
    headers: Headers  #: names are case-insensitive
    request_id: str | None  #: quote it to the operator of the service
    limits: Limits | None


@dataclass(frozen=True)
class Category:
    """A class of pets."""

    id: int  #: ascending in the order of creation, never reused
    name: str
    description: str | None = None
    #: Identifies the category's current state, for ``if_match``; "" in lists.
    etag: str = field(default="", compare=False)
    #: Whether an earlier request with the same idempotency key created it.
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Pet:
    """An animal of a category."""

    id: int
    name: str
    category_id: int
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Order:
    """An order of a pet."""

    id: int
    pet_id: int
    quantity: int
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class ListState:
    """All categories, and the ETag of the list; ``categories`` is None if it has not changed."""

    categories: list[Category] | None
    etag: str


@dataclass(frozen=True)
class WindowUsage:
    """An account's use of a window."""

    window: str  #: "minute" or "day"
    limit: int
    used: int
    remaining: int
    reset: int  #: its end, in Unix seconds by the service's clock


@dataclass(frozen=True)
class Ban:
    """A period in which the service rejects a key."""

    until: int  #: in Unix seconds by the service's clock
    key: str = ""  #: its id, in Usage.bans


@dataclass(frozen=True)
class KeyInfo:
    """The key that sent the request."""

    id: str
    read_only: bool
    label: str | None = None
    expires_at: str | int | None = None  #: None: never
    networks: list[str] = field(default_factory=lambda: list[str]())  #: where it works, in CIDR notation; empty: everywhere


@dataclass(frozen=True)
class RotatedKey:
    """The successor of a key."""

    id: str
    read_only: bool
    replaces: str  #: the id of the old key
    replaced_until: int  #: in Unix seconds by the service's clock
    label: str | None = None
    expires_at: str | int | None = None  #: None: never
    networks: list[str] = field(default_factory=lambda: list[str]())
    #: The secret, which the service shows once. None only if you repeat a rotation with the idempotency
    #: key of an earlier one.
    key: str | None = field(default=None, repr=False)
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class StorageUsage:
    """What an account's categories take, and may take."""

    bytes: int  #: of their texts as JSON, and 64 for each category
    max_bytes: int
    categories: int
    max_categories: int  #: also of pets, and of orders


@dataclass(frozen=True)
class Usage:
    """An account's use of its quotas."""

    plan: str  #: such as "free"
    windows: list[WindowUsage]
    ban: Ban | None  #: of the key that sent the request
    key: KeyInfo | None
    storage: StorageUsage | None = None
    bans: list[Ban] = field(default_factory=lambda: list[Ban]())  #: of all keys of the account


@dataclass(frozen=True)
class UsageEntry:
    """The usage of an hour or a day, or of a key or an operation in it."""

    start: int  #: Unix time in seconds
    requests: int  #: that were allowed
    rejected: int  #: by a quota or a ban
    failed: int  #: 5xx responses; may also be in requests
    key: str | None = None  #: its id, if grouped by key; None if not counted apart
    operation: str | None = None  #: if grouped by operation; None if none matched


E = TypeVar("E", Category, Pet, Order)


class Unexpected(Exception):
    """The response is not from the service."""


def members(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unexpected
    return cast("dict[str, Any]", value)


def elements(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Unexpected
    return cast("list[object]", value)


def read(kind: type[T], value: object, **more: object) -> T:
    """Makes a value of a class of this module from the JSON members that it knows, and more from
    headers. The id of a resource must be positive."""
    given = members(value)
    known = [f.name for f in fields(cast(Any, kind)) if f.name not in ("etag", "replayed")]
    number = given.get("id")
    if kind.__name__ in ("Category", "Pet", "Order") and not (type(number) is int and number > 0):
        raise Unexpected
    try:
        return cast(T, cast(Any, kind)(**{name: given[name] for name in known if name in given}, **more))
    except TypeError as error:  # a member is missing
        raise Unexpected from error


def one(kind: type[E]) -> Callable[[object, RawResponse], E]:
    def result(value: object, response: RawResponse) -> E:
        more: dict[str, object] = {"etag": response.headers.get("ETag", "")} if kind.__name__ == "Category" else {}
        return read(kind, value, replayed=response.headers.get("Idempotent-Replayed") == "true", **more)

    return result


def list_of(kind: type[E]) -> Callable[[object, RawResponse], list[E]]:
    return lambda value, _: [read(kind, element) for element in elements(value)]


def read_usage(value: object) -> Usage:
    given = members(value)
    ban, key, storage = given.get("ban"), given.get("key"), given.get("storage")
    return Usage(
        plan=str(given.get("plan", "")),
        windows=[read(WindowUsage, window) for window in elements(given.get("windows"))],
        ban=None if ban is None else read(Ban, ban),
        key=None if key is None else read(KeyInfo, key),
        storage=None if storage is None else read(StorageUsage, storage),
        bans=[read(Ban, one) for one in elements(given.get("bans", []))],
    )
