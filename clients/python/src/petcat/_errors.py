"""Errors of calls. All can be pickled, so that they cross processes."""

from __future__ import annotations

from typing import Any

import httpx


class PetcatError(Exception):
    """A call failed."""

    #: Whether a create, an update or a delete may have been carried out.
    outcome_unknown: bool = False

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}; it may have been carried out" if self.outcome_unknown else text


class ConnectionFailed(PetcatError):
    """There was no response from the service. ``__cause__`` is the reason."""


class APIError(PetcatError):
    """An error response, from the service or a proxy."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        request_id: str | None = None,
        retry_after: float | None = None,
        not_sent: bool = False,
        headers: httpx.Headers | None = None,
    ) -> None:
        text = f"{status} {code}".rstrip() + f": {message}"
        if not_sent:
            text += f" (not sent; try again in {retry_after or 0:.0f} s)"
        elif request_id:
            text += f" (request {request_id})"
        super().__init__(text)
        #: The HTTP status.
        self.status = status
        #: The kind of failure; "" if the response is not from the service. New codes may be
        #: added: treat an unknown one by its status.
        self.code = code
        #: Says, for people, what is wrong and what to do.
        self.message = message
        #: Identifies the request. Quote it to the operator of the service.
        self.request_id = request_id
        #: How long to wait before the next request, in seconds, if the response says so.
        self.retry_after = retry_after
        #: Whether the client rejected the call itself, because the service would have rejected it.
        self.not_sent = not_sent
        #: The headers of the response. Names are case-insensitive.
        self.headers = httpx.Headers() if headers is None else headers

    @property
    def field(self) -> str | None:
        """The member or parameter that is wrong, such as "name"; None if the service names none."""
        name: str | None = self.headers.get("X-Error-Field")
        return name

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.status, self.code, self.message, self.request_id, self.retry_after, self.not_sent, self.headers)
        return type(self), given, {"outcome_unknown": self.outcome_unknown}


class InvalidRequest(APIError):
    """400, 405, 413, 415, 422: change the request."""


class AuthenticationError(APIError):
    """401: the key is invalid, expired, revoked or disabled."""


class Forbidden(APIError):
    """403: the key may not do this."""


class NotFound(APIError):
    """404, 410: the resource or the operation does not exist, or no longer. If ``code`` is "", the
    response is not from the service."""


class Conflict(APIError):
    """409, 412: the current state does not allow the request."""


class RateLimited(APIError):
    """429: a quota is used up, or the key is banned."""


class ServerError(APIError):
    """5xx: the service or a proxy failed."""


_CLASSES: dict[int, type[APIError]] = {
    **dict.fromkeys((400, 405, 413, 415, 422), InvalidRequest),
    **dict.fromkeys((404, 410), NotFound),
    **dict.fromkeys((409, 412), Conflict),
    **{401: AuthenticationError, 403: Forbidden, 429: RateLimited},
}


def error_class(status: int) -> type[APIError]:
    return _CLASSES.get(status, ServerError if status >= 500 else APIError)
