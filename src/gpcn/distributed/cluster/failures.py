"""The reason that a training on a cluster cannot go on, in the memory of the cluster: storage may be what has failed.

A worker that meets something a user can mend records it; the others, whose messages then fail, read it and end as well,
and the driver raises it. Without a record, a worker that ends was lost, and Ray starts all again.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol
from uuid import uuid4

from gpcn.core import errors
from gpcn.core.errors import GpcnError

SECONDS = 30.0  # for an answer from the cluster


class Failures(Protocol):
    """A record of failures."""

    def record(self, rank: int, error: GpcnError) -> None:
        """Keep why worker `rank` cannot go on."""

    def first(self) -> GpcnError | None:
        """Return why the training cannot go on, of several workers the first; `None` where nobody recorded anything."""


class FailureBoard:
    """An actor of the cluster that all workers can reach, on the machine of the driver. It holds plain data."""

    def __init__(self) -> None:
        self._records: dict[int, tuple[str, str]] = {}

    def record(self, rank: int, kind: str, sentence: str) -> None:
        """Keep why worker `rank` cannot go on."""
        self._records.setdefault(rank, (kind, sentence))

    def first(self) -> tuple[str, str] | None:
        """Kind and sentence, of several workers the first."""
        return self._records[min(self._records)] if self._records else None


class ClusterFailures:
    """The board of a cluster, by its name there; nothing is known where it cannot be reached."""

    def __init__(self, ray: Any, name: str, board: Any = None) -> None:
        self._ray, self.name = ray, name
        self._board = board  # an actor ends with the last handle to it, which is the driver's

    @classmethod
    def start(cls, ray: Any) -> ClusterFailures:
        """A new board, beside the driver, so that it is lost only with it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name = f"gpcn-failures-{uuid4().hex}"
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        board = ray.remote(num_cpus=0)(FailureBoard).options(name=name, scheduling_strategy=here).remote()
        return cls(ray, name, board)

    def record(self, rank: int, error: GpcnError) -> None:
        """Keep why worker `rank` cannot go on."""
        with self._lost_cluster():
            self._get(self._actor().record.remote(rank, type(error).__name__, f"{error}"))

    def first(self) -> GpcnError | None:
        """Return why the training cannot go on, if somebody recorded it."""
        with self._lost_cluster():
            record = self._get(self._actor().first.remote())
            return None if record is None else recorded_error(*record)
        return None

    def _actor(self) -> Any:
        return self._ray.get_actor(self.name)

    def _get(self, reference: Any) -> Any:
        return self._ray.get(reference, timeout=SECONDS)

    def _lost_cluster(self) -> contextlib.suppress:
        return contextlib.suppress(self._ray.exceptions.RayError, ValueError)


def recorded_error(kind: str, sentence: str) -> GpcnError:
    """Return the error that was recorded."""
    error_class = getattr(errors, kind, None)
    if isinstance(error_class, type) and issubclass(error_class, GpcnError):
        return error_class(sentence)
    return GpcnError(sentence)
