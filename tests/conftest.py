"""What many tests need: the mirror, a cache of their own, a small graph."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from gpcn import Graph, save, synthesize
from tests.graphs import make_graph

settings.register_profile("gpcn", deadline=None)  # a machine with much to do is no failure
settings.load_profile("gpcn")

HERE = Path(__file__).resolve()
MIRROR = Path(os.environ.get("GPCN_MIRROR") or HERE.parents[2] / "shared" / "data").resolve()
"""Read before `own_cache` takes it out of the environment."""


FIRST = ("test_many_kills.py", "test_cluster.py", "test_study.py", "test_object_storage.py", "test_training_faults.py")
"""Files with tests of a minute and more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests begin, so that at the end no process waits for another's."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture(scope="session")
def mirror() -> Path:
    if not MIRROR.is_dir():
        pytest.skip("no dataset mirror: set GPCN_MIRROR to run this test")
    return MIRROR


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests never see the user's cache, and never the network."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["GPCN_CACHE"] = str(folder)
    os.environ["GPCN_DOWNLOAD_BASE"] = "http://127.0.0.1:9"
    os.environ.pop("GPCN_MIRROR", None)
    return folder


@pytest.fixture(scope="session", autouse=True)
def equal_ray_workers() -> None:
    """Ray gives its workers the lowest priority, so that tests beside theirs would starve them."""
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (as Ray spells it)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Tests run side by side; threads of one would wait for those of the other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def graph(request: pytest.FixtureRequest) -> Graph:
    """What `synthesize` makes of the `GRAPH_OPTIONS` of a module of tests."""
    return synthesize(**request.module.GRAPH_OPTIONS)


@pytest.fixture(scope="module")
def graph_file(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a file of our own format."""
    path = tmp_path_factory.mktemp("graph") / "g.npz"
    save(graph, path)
    return path


@pytest.fixture
def small() -> Graph:
    return make_graph()


@pytest.fixture
def load_dataset(mirror: Path):
    from gpcn.data.benchmarks.loading import load_dataset as load

    return lambda name: load(name, mirror=mirror)
