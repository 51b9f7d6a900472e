"""Memory before work: what does not fit is refused with the numbers, before it is allocated."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from torch.profiler import ProfilerActivity, profile

from gpcn import CapacityError, ConfigError, TrainConfig, random_splits, synthesize
from gpcn.core import machine_memory as memory
from gpcn.nn import Adjacency
from gpcn.runs.training import train
from gpcn.training import memory_estimate
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.graphs import star_graph


def test_there_is_some_and_the_variable_overrules_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    machine = memory.available_memory()
    assert machine is None or machine > 0
    for text, size in (("8G", 8 << 30), ("500M", 500 << 20), ("1.5gib", 3 << 29), ("123", 123)):
        monkeypatch.setenv(memory.VARIABLE, text)
        assert memory.available_memory() == size
    for text in ("much", "-1", "1e9", "9" * 400):
        monkeypatch.setenv(memory.VARIABLE, text)
        with pytest.raises(ConfigError, match="GPCN_MEMORY is"):
            memory.available_memory()


def test_a_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1, 1))
    assert memory.available_memory() == 0


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    for name, content in (("memory.max", "1000"), ("memory.current", "900"), ("memory.stat", "inactive_file 50\n")):
        (tmp_path / name).write_text(content)
    files = (tmp_path / "memory.max", tmp_path / "memory.current")
    assert memory._of_cgroup(files) == 150
    (tmp_path / "memory.max").write_text("max")
    assert memory._of_cgroup(files) is None


def test_sizes_are_written_for_people() -> None:
    assert [memory.readable_bytes(size) for size in (5, 1500, 2e6, 3.21e9, 4e12)] == [
        "5 bytes",
        "1.5 KB",
        "2 MB",
        "3.21 GB",
        "4 TB",
    ]


def test_a_star_does_not_take_the_machine_down() -> None:
    """200,000 leaves: 4·10^10 pairs of leaves are two steps apart."""
    config = TrainConfig.of("h2gcn", epochs=2, hidden=4)
    with pytest.raises(
        CapacityError, match=r"two steps away \(200,001 nodes, about 4\d,\d{3},\d{3},\d{3} links\) needs"
    ):
        train(star_graph(200_000), config, jobs=1)


def test_links_two_steps_away_that_fit_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    links = star_graph(300).adjacency
    monkeypatch.setenv(memory.VARIABLE, str(300 * 300 * 60))
    assert Adjacency(links).operator(self_loops=False, hops=2).shape == (301, 301)
    monkeypatch.setenv(memory.VARIABLE, str(300 * 300 * 20))
    with pytest.raises(CapacityError, match="use a model that reads one step at a time"):
        Adjacency(links).operator(self_loops=False, hops=2)


def test_a_few_nodes_that_hold_all_links_two_steps_away_are_not_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 nodes point to a hub, which points to 100,000: a sample of all nodes would not meet one of the 100."""
    sources, leaves = np.arange(100), np.arange(101, 100_101)
    ends = np.append(sources, np.full(leaves.size, 100)), np.append(np.full(sources.size, 100), leaves)
    links = sp.csr_array((np.ones(ends[0].size), ends), shape=(100_101, 100_101))
    monkeypatch.setenv(memory.VARIABLE, "100M")
    with pytest.raises(CapacityError, match=r"about 10,000,000 links\) needs about 480 MB"):
        Adjacency(links).operator(self_loops=False, hops=2)


def test_overlapping_neighbours_are_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a ring of cliques the bound by degrees is far above what there is; a sample of rows tells."""
    cliques = sp.block_diag([np.ones((50, 50)) - np.eye(50)] * 20, format="csr")
    monkeypatch.setenv(memory.VARIABLE, str(1000 * 50 * 60))
    Adjacency(cliques).operator(self_loops=False, hops=2)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": 65_536},
        {"model": "h2gcn", "hidden": 4096, "layers": 10},
        {"model": "gcnii", "hidden": 8192, "layers": 900},
    ],
)
def test_models_that_do_not_fit_are_refused_before_they_are_allocated(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "1G")
    graph = synthesize(nodes=300, degree=4)
    config = TrainConfig.of(**settings, epochs=2)  # type: ignore[arg-type]
    tracemalloc.start()
    with pytest.raises(CapacityError, match=r"needs about .*B of memory, and 1.07 GB is available; lower hidden"):
        train(graph, config, jobs=1)
    assert tracemalloc.get_traced_memory()[1] < 1 << 28
    tracemalloc.stop()


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_rounds_of_h2gcn_under_dropout_are_counted_as_often_as_they_are_held(layers: int) -> None:
    leaves, config = 20_000, TrainConfig.of("h2gcn", layers=layers, dropout=0.5, epochs=2)
    star = star_graph(leaves)
    directed = replace(star, adjacency=sp.triu(star.adjacency, format="csr"))
    trainer = Trainer(Problem.of(directed, config), config, directed.splits[0], 0)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        trainer.run()
    changes = [event.nbytes() for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    most = np.cumsum(changes).max()
    assert 0.95 * most < memory_estimate.activation_bytes(directed, config) < most


def test_usual_models_pass_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "weight_bytes", lambda *_: pytest.fail("counted"))
    graph = synthesize(nodes=300, degree=4)
    Problem.of(graph, TrainConfig.of("gpcn")).build(TrainConfig.of("gpcn"))


def test_many_splits_of_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "1M")
    with pytest.raises(CapacityError, match="9,000 splits of 300 labelled nodes needs about 21.6 MB"):
        random_splits(synthesize(nodes=300, degree=4), count=9000)
