"""Which Dask client a fit runs on, and a lost scheduler as one sentence.

`distributed` is imported only where a client, a cluster or an address is given, or where the program has imported it
already: without that there is no active client.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from distributed import Client

LOST_CONNECTION = "scheduler-connection-lost"  # why Dask cancels the futures of a client that has lost its scheduler


def current_client(client: Any = None) -> Client | None:
    """The client to run on.

    Parameters
    ----------
    client : distributed.Client, LocalCluster or another cluster, str, default=None
        A string is the address of a scheduler. None: the active default client if there is one.

    Returns
    -------
    distributed.Client or None
        None: there is no client, and Dask's own threads do the work. For a cluster or an address this is a new client,
        not made the default one, which the caller has to close (`using_client` does).
    """
    if client is None:
        return _default_client()
    if hasattr(client, "submit") and hasattr(client, "scatter"):
        return _living(client)
    from distributed import Client

    address = client if isinstance(client, str) else getattr(client, "scheduler_address", None)
    if not address:
        raise TypeError(
            f"client must be a dask.distributed Client, a cluster, the address of a scheduler or None, got {client!r}."
        )
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"There is no Dask scheduler at {address}: {_in_one_line(error)}") from error


@contextmanager
def using_client(client: Any = None) -> Iterator[Client | None]:
    """`current_client`, closed at the end if it was opened for the purpose, with a lost scheduler as one sentence."""
    found = current_client(client)
    try:
        with scheduler_errors(found):
            yield found
    finally:
        if found is not None and client is not None and found is not client:
            found.close()


@contextmanager
def scheduler_errors(client: Client | None) -> Iterator[None]:
    """Turn whatever Dask raises once the scheduler is gone into a ConnectionError of one sentence."""
    address = scheduler_address(client)
    try:
        yield
    except ConnectionError:
        raise
    except Exception as error:
        if client is not None and is_lost(client, error):
            raise lost_scheduler(address) from error
        raise


class HoldsClient(BaseEstimator):
    """An estimator with a parameter `client`, a connection that can be neither copied nor stored."""

    client: Any

    def __getstate__(self):
        """A copy or a pickle has no client."""
        return super().__getstate__() | {"client": None}

    def __sklearn_clone__(self):
        """A clone has the same client."""
        copied = super().__sklearn_clone__() if self.client is None else copy.copy(self).__sklearn_clone__()
        copied.client = self.client
        return copied


def lost_scheduler(address: str) -> ConnectionError:
    """The error of a scheduler that is gone."""
    return ConnectionError(
        f"The connection to the Dask scheduler at {address} was lost, and with it all that its workers held; start a "
        "new cluster and run this again."
    )


def is_lost(client: Client, error: BaseException | None = None) -> bool:
    """Whether the client has no scheduler any more, as far as is known; `error` is what was raised, if anything."""
    if client.status != "running":
        return True
    from distributed.comm import CommClosedError

    # A cancelled future says why. A closed connection of a running client may be news that its status has not met yet.
    return isinstance(error, CommClosedError) or getattr(error, "reason", None) == LOST_CONNECTION


def scheduler_address(client: Client | None) -> str:
    """Where the scheduler is, or was: a client that has lost it does not know."""
    scheduler = getattr(client, "scheduler", None)
    started = getattr(client, "_start_arg", None)
    known = (getattr(scheduler, "address", None), getattr(started, "scheduler_address", None), started)
    return str(next((address for address in known if address), "an unknown address"))


def _default_client() -> Client | None:
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return None
    return _living(client)


def _living(client: Client) -> Client:
    if getattr(client, "asynchronous", False):
        raise TypeError("client is an asynchronous Client; a fit waits for its results and needs an ordinary one.")
    if client.status != "running":
        raise ConnectionError(
            f"The Dask client of {scheduler_address(client)} is {client.status}: it has no scheduler to run on."
        )
    return client


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
