"""Training by Ray Train: what is refused before anything is started. Kills are in `test_many_kills`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gpcn import TrainConfig, synthesize
from gpcn.core.errors import ConfigError, DataError
from gpcn.distributed.cluster.cluster_training import RayCluster, _check_size, _sentence, train_on_cluster
from gpcn.distributed.cluster.network import interface_of
from gpcn.distributed.sharding.shards import shard
from gpcn.exec.ray_connection import STARTS, connect_to_ray
from tests.commands import in_process

pytest.importorskip("ray")


def test_what_does_not_fit_is_said_before_anything_is_started(tmp_path: Path) -> None:
    shard(synthesize(nodes=30, classes=2, splits=1, features=2, seed=0), tmp_path / "parts", 2)
    config = TrainConfig.of("gpcn")
    with pytest.raises(ConfigError, match=r"has 2 part\(s\), one per worker, and workers is 3; train with workers=2"):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", workers=3)
    with pytest.raises(ConfigError, match="there is no split 4; the graph has splits 0 to 0"):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", splits=[4])
    with pytest.raises(DataError, match="is no graph in parts"):
        train_on_cluster(tmp_path, config, tmp_path / "run")
    command = ("train", tmp_path / "parts", "--model", "gpcn")
    assert "add --engine ray, or leave them out" in in_process(*command, "--workers", 2).stderr
    assert "name where all workers see it with --out" in in_process(*command, "--engine", "ray").stderr
    assert "--engine is 'spark'; expected ray" in in_process(*command, "--engine", "spark").stderr
    with pytest.raises(ConfigError, match="no Ray cluster at 127.0.0.1:1: nothing answers there"):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", cluster=RayCluster("127.0.0.1:1"))


def test_a_cluster_that_is_too_small_is_one_sentence() -> None:
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 3.0})
    _check_size(ray, 3, wait=0.0)
    with pytest.raises(ConfigError, match=r"the cluster has 3 CPU\(s\) for 4 workers; add machines with ray start"):
        _check_size(ray, 4, wait=0.0)


def test_a_cluster_that_ended_a_training_is_one_sentence() -> None:
    from ray.train.v2._internal.exceptions import WorkerGroupStartupTimeoutError
    from ray.train.v2.api.exceptions import ControllerError, WorkerGroupError

    lost = _sentence(WorkerGroupError("two lines\nof it", {1: RuntimeError("gloo\nConnection closed by peer")}), 3)
    assert lost.startswith("the workers were lost more than 3 time(s), the last because of: Connection closed by peer;")
    small = _sentence(ControllerError(WorkerGroupStartupTimeoutError(2)), 3)
    assert small.startswith("the cluster has too few CPUs since a machine was lost")
    assert "\n" not in lost + small


def test_gloo_uses_the_interface_that_has_an_address() -> None:
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("203.0.113.7") is None  # an address that is nobody's


class SlowRay:
    """A Ray that is too slow to start a number of times."""

    def __init__(self, failures: int, sentence: str) -> None:
        self.failures, self.sentence, self.starts, self.ended = failures, sentence, 0, 0

    def init(self, **_: object) -> None:
        self.starts += 1
        if self.starts <= self.failures:
            raise Exception(self.sentence)  # as Ray does

    def shutdown(self) -> None:
        self.ended += 1


def test_a_cluster_that_starts_too_slowly_is_started_again_and_then_given_up() -> None:
    late = "The current node timed out during startup.\nThis could happen"
    busy = SlowRay(2, late)
    connect_to_ray(busy, 2, None)
    assert (busy.starts, busy.ended) == (3, 2)
    hopeless = SlowRay(100, late)
    with pytest.raises(
        ConfigError, match="Ray did not start on this machine: The current node timed out during"
    ) as raised:
        connect_to_ray(hopeless, 2, None)
    assert hopeless.starts == STARTS
    assert "\n" not in str(raised.value)
    other = SlowRay(1, "something else")
    with pytest.raises(ConfigError, match="Ray did not start on this machine: something else; run the same command"):
        connect_to_ray(other, 2, None)
    assert other.starts == 1
