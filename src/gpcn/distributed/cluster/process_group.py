"""The process group of Ray Train's workers, over the network by which Ray reaches their machines."""

from __future__ import annotations

from typing import Any

from ray.train.torch import TorchConfig

from gpcn.distributed.cluster.network import use_network_of_ray


class _ClusterBackend(TorchConfig().backend_cls):  # type: ignore[misc]
    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        """Called by Ray Train when all workers are there."""
        worker_group.execute(use_network_of_ray)
        super().on_start(worker_group, backend_config)


class ClusterTorchConfig(TorchConfig):
    """Ray Train's own, with `use_network_of_ray` before the process group is made."""

    @property
    def backend_cls(self) -> Any:
        """The class that sets up the workers."""
        return _ClusterBackend
