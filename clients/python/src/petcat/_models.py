"""What calls return. Members that the service adds later are ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from ._http import Headers, RawResponse
from ._limits import Limits

T = TypeVar("T")


class Unset(Enum):
    UNSET = "UNSET"


#: What is not to be changed by an update.
UNSET = Unset.UNSET


@dataclass(frozen=True)
class Response(Generic[T]):
    """A result, and the answer that had it."""

    value: T
    status: int
    headers: Headers
    request_id: str | None  #: to be quoted to the operator of the service
    limits: Limits | None


@dataclass(frozen=True)
class Category:
    """A class of pets."""

    id: int  #: ascending in the order of creation, never reused
    name: str
    description: str | None = None
    #: Names this state of the category, for ``if_match``; "" in lists, which if_match refuses.
    etag: str = field(default="", compare=False)
    #: Whether an earlier request with the same idempotency key created it.
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Pet:
    """An animal, classified by a category."""

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
    """What an account has used of a window."""

    window: str  #: "minute" or "day"
    limit: int
    used: int
    remaining: int
    reset: int  #: when it ends, in seconds since 1970 by the service's clock


@dataclass(frozen=True)
class Ban:
    """A time in which a key is refused."""

    until: int  #: in seconds since 1970 by the service's clock
    key: str = ""  #: its id, in Usage.bans


@dataclass(frozen=True)
class KeyInfo:
    """The key that asked."""

    id: str
    read_only: bool
    label: str | None = None
    expires_at: str | int | None = None  #: None: never


@dataclass(frozen=True)
class Usage:
    """What an account has used, and what it may still use."""

    plan: str  #: such as "free"
    windows: list[WindowUsage]
    ban: Ban | None  #: of the key that asked
    key: KeyInfo | None
    bans: list[Ban] = field(default_factory=lambda: list[Ban]())  #: of all keys of the account


E = TypeVar("E", Category, Pet, Order)


class Unexpected(Exception):
    """An answer that is not one of the service's."""


def members(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unexpected
    return cast("dict[str, Any]", value)


def elements(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Unexpected
    return cast("list[object]", value)


def read(kind: type[T], value: object, **more: object) -> T:
    """Makes a value of a class of this page from JSON and what headers tell, without the members
    that it does not know. What has an id must have a positive one."""
    given = members(value)
    known = [f.name for f in fields(cast(Any, kind)) if f.name not in ("etag", "replayed")]
    number = given.get("id")
    if kind in (Category, Pet, Order) and not (type(number) is int and number > 0):
        raise Unexpected
    try:
        return cast(Any, kind)(**{name: given[name] for name in known if name in given}, **more)
    except TypeError as error:  # a member is missing
        raise Unexpected from error


def one(kind: type[E]) -> Callable[[object, RawResponse], E]:
    def result(value: object, answer: RawResponse) -> E:
        more: dict[str, object] = {"etag": answer.headers.get("ETag", "")} if kind is Category else {}
        return read(kind, value, replayed=answer.headers.get("Idempotent-Replayed") == "true", **more)

    return result


def list_of(kind: type[E]) -> Callable[[object, RawResponse], list[E]]:
    return lambda value, _: [read(kind, element) for element in elements(value)]


def read_usage(value: object) -> Usage:
    given = members(value)
    ban, key = given.get("ban"), given.get("key")
    return Usage(
        plan=str(given.get("plan", "")),
        windows=[read(WindowUsage, window) for window in elements(given.get("windows"))],
        ban=None if ban is None else read(Ban, ban),
        key=None if key is None else read(KeyInfo, key),
        bans=[read(Ban, one) for one in elements(given.get("bans", []))],
    )
