"""What a call raises."""

from __future__ import annotations


class PetcatError(Exception):
    """A call that failed."""

    #: Whether a create, an update or a delete may have been carried out all the same.
    outcome_unknown: bool = False

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}; it may have been carried out" if self.outcome_unknown else text


class ConnectionFailed(PetcatError):
    """There was no answer, or none that is the service's. ``__cause__`` says more."""


class APIError(PetcatError):
    """The service, or something between, answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, request_id: str | None = None, retry_after: float | None = None, not_sent: bool = False
    ) -> None:
        text = f"{status} {code}".rstrip() + f": {message}"
        if not_sent:
            text += f" (not sent; try again in {retry_after or 0:.0f} s)"
        elif request_id:
            text += f" (request {request_id})"
        super().__init__(text)
        #: The HTTP status.
        self.status = status
        #: The kind of failure, "" if something else answered instead of the service. New ones
        #: may be added: treat one that you do not know by the status.
        self.code = code
        #: What is wrong and what to do, for people.
        self.message = message
        #: To be quoted to the operator of the service.
        self.request_id = request_id
        #: The seconds to wait before the next request, if the answer says so.
        self.retry_after = retry_after
        #: Whether the client refused the call itself, because the service would have.
        self.not_sent = not_sent


class InvalidRequest(APIError):
    """400, 405, 413, 415, 422: the request must be changed."""


class AuthenticationError(APIError):
    """401: the key is not valid, or no longer."""


class Forbidden(APIError):
    """403: the key may not do this."""


class NotFound(APIError):
    """404, 410: there is nothing, or no longer."""


class Conflict(APIError):
    """409, 412: the state of things does not allow it."""


class RateLimited(APIError):
    """429: the requests of a window are used, or the key is banned."""


class ServerError(APIError):
    """5xx: the service, or a proxy before it, failed."""


_CLASSES: dict[int, type[APIError]] = {
    **dict.fromkeys((400, 405, 413, 415, 422), InvalidRequest),
    **dict.fromkeys((404, 410), NotFound),
    **dict.fromkeys((409, 412), Conflict),
    **{401: AuthenticationError, 403: Forbidden, 429: RateLimited},
}


def error_class(status: int) -> type[APIError]:
    return _CLASSES.get(status, ServerError if status >= 500 else APIError)
