"""The client of the Pet Category Service.

    from petcat import Petcat

    client = Petcat()  # reads PETCAT_URL and PETCAT_API_KEY
    dog = client.categories.create("dog")

A client waits for the limits of its account, retries failed requests that are safe to repeat, and
never writes twice. README.md explains how. It logs under the name "petcat".
"""

from ._async_client import AsyncPetcat as AsyncPetcat
from ._calls import CallOptions as CallOptions, Retry as Retry
from ._client import Petcat as Petcat
from ._errors import (
    APIError as APIError,
    AuthenticationError as AuthenticationError,
    Conflict as Conflict,
    ConnectionFailed as ConnectionFailed,
    Forbidden as Forbidden,
    InvalidRequest as InvalidRequest,
    NotFound as NotFound,
    PetcatError as PetcatError,
    RateLimited as RateLimited,
    ServerError as ServerError,
)
from ._gate import Wait as Wait
from ._limits import Limits as Limits, Window as Window
from ._mirror import AsyncMirror as AsyncMirror, ChangedCategory as ChangedCategory, ChangePage as ChangePage, Mirror as Mirror
from ._models import UNSET as UNSET, Category as Category, ListState as ListState, Order as Order, Pet as Pet, Response as Response
from ._models import Ban as Ban, KeyInfo as KeyInfo, RotatedKey as RotatedKey, StorageUsage as StorageUsage, Usage as Usage, UsageEntry as UsageEntry, WindowUsage as WindowUsage
from ._operations import __version__ as __version__
from ._webhook import Event as Event, InvalidWebhook as InvalidWebhook, verify_webhook as verify_webhook
