"""Changes of categories, and a copy that they keep current, for both kinds of clients."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from ._calls import Call, CallOptions
from ._errors import APIError
from ._models import Category, RawResponse, Response, Unexpected, elements, members, read
from ._operations import Unpack
from ._transport import AsyncCaller, Caller


@dataclass(frozen=True)
class ChangedCategory:
    """The last change of a category."""

    id: int
    category: Category | None  #: None: it was deleted


@dataclass(frozen=True)
class ChangePage:
    """A page of changes, in their order. Each category is in it once."""

    changes: list[ChangedCategory]
    bookmark: str  #: later changes follow it


class Changes:
    """Reads changes in pages: ``call`` is the call of the next page until it is None."""

    def __init__(self, bookmark: str, page_size: int, options: CallOptions) -> None:
        self._size, self._options = page_size, options
        self.call: Call[ChangePage] | None = self._next(bookmark)

    def _next(self, bookmark: str) -> Call[ChangePage]:
        position = {"after": bookmark} if bookmark else {}
        return Call("GET", "/categories/changes", _page, self._options, {"limit": self._size, **position})

    def read(self, response: Response[ChangePage]) -> ChangePage:
        """Returns a page, and sets the next call."""
        page = response.value
        self.call = self._next(page.bookmark) if len(page.changes) >= self._size else None
        return page


def _page(value: object, raw: RawResponse) -> ChangePage:
    link = re.search(r'<([^>]*)>[^<]*;\s*rel="?next\b', raw.headers.get("Link", ""))
    # Only the cursor: the link could lead to another host.
    cursor = urllib.parse.parse_qs(urllib.parse.urlsplit(link[1]).query).get("after") if link else None
    if not cursor:
        raise Unexpected
    return ChangePage([_change(element) for element in elements(value)], cursor[0])


def _change(value: object) -> ChangedCategory:
    given = members(value)
    number, category = given.get("id"), given.get("category")
    if type(number) is not int or number < 1:
        raise Unexpected
    return ChangedCategory(number, None if category is None else read(Category, category))


def iterate(caller: Caller, changes: Changes) -> Iterator[ChangePage]:
    while call := changes.call:
        yield changes.read(caller(call))


async def iterate_async(caller: AsyncCaller, changes: Changes) -> AsyncIterator[ChangePage]:
    while call := changes.call:
        yield changes.read(await caller(call))


class _Copy:
    """A copy of all categories with its bookmark. A refresh replaces both together."""

    def __init__(self) -> None:
        self._state: tuple[str, dict[int, Category]] = ("", {})

    @property
    def categories(self) -> dict[int, Category]:
        """All categories by id, as of the last refresh, which replaces the dictionary. Do not change it."""
        return self._state[1]

    def save(self) -> str:
        """Returns the copy and its bookmark as one JSON document. The clients for other languages have
        the same format."""
        bookmark, categories = self._state
        return json.dumps({"bookmark": bookmark, "categories": [_saved(categories[id]) for id in sorted(categories)]}, ensure_ascii=False)

    def load(self, text: str) -> None:
        """Replaces the copy by one that save has returned. After an error, the copy is as before."""
        try:
            file = members(json.loads(text))
            categories = [read(Category, element) for element in elements(file.get("categories"))]
            bookmark = file["bookmark"]
            if not isinstance(bookmark, str):
                raise Unexpected
        except (Unexpected, ValueError, KeyError) as error:
            raise ValueError("this is not a mirror that save has returned; refresh an empty one") from error
        self._state = (bookmark, {category.id: category for category in categories})

    def _expired(self, error: APIError) -> bool:
        return self._state[0] != "" and error.code == "cursor_expired"


class _Refresh:
    """The changes of one refresh."""

    def __init__(self, state: tuple[str, dict[int, Category]], options: CallOptions) -> None:
        self.bookmark, before = state
        self.categories = dict(before)
        self.changed = False
        self.changes = Changes(self.bookmark, 1000, options)

    def apply(self, page: ChangePage) -> None:
        self.bookmark = page.bookmark
        for change in page.changes:
            self.changed = True
            if change.category is None:
                self.categories.pop(change.id, None)
            else:
                self.categories[change.id] = change.category

    def state(self) -> tuple[str, dict[int, Category]]:
        return self.bookmark, self.categories


_EMPTY: tuple[str, dict[int, Category]] = ("", {})


class Mirror(_Copy):
    """A copy of all categories, for threads. ``categories.mirror()`` makes one."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller
        self._refreshing = threading.Lock()

    def refresh(self, **options: Unpack[CallOptions]) -> bool:
        """Brings the copy up to date, and returns whether there were changes. It takes one request, and
        one more for each 1,000 changes. If the bookmark has expired, it reads all categories again.
        After an error, the copy is as before."""
        with self._refreshing:
            try:
                return self._follow(_Refresh(self._state, options))
            except APIError as error:
                if not self._expired(error):
                    raise
            self._follow(_Refresh(_EMPTY, options))
            return True

    def _follow(self, refresh: _Refresh) -> bool:
        for page in iterate(self._caller, refresh.changes):
            refresh.apply(page)
        self._state = refresh.state()
        return refresh.changed


class AsyncMirror(_Copy):
    """A copy of all categories, for async. ``categories.mirror()`` makes one. Do not refresh it twice at
    the same time."""

    def __init__(self, caller: AsyncCaller) -> None:
        super().__init__()
        self._caller = caller

    async def refresh(self, **options: Unpack[CallOptions]) -> bool:
        """The same as Mirror.refresh."""
        try:
            return await self._follow(_Refresh(self._state, options))
        except APIError as error:
            if not self._expired(error):
                raise
        await self._follow(_Refresh(_EMPTY, options))
        return True

    async def _follow(self, refresh: _Refresh) -> bool:
        async for page in iterate_async(self._caller, refresh.changes):
            refresh.apply(page)
        self._state = refresh.state()
        return refresh.changed


def _saved(category: Category) -> dict[str, Any]:
    description = {} if category.description is None else {"description": category.description}
    return {"id": category.id, "name": category.name, **description}
