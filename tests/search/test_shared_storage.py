"""One storage for several studies and machines: nothing is mixed up, and one driver at a time writes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpcn import Graph
from gpcn.core.errors import CheckpointError
from gpcn.search import lease as leases
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from gpcn.search.lease import Lease
from gpcn.search.ledger import Ledger
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study import tune
from gpcn.search.study_header import study_header
from tests.search import postgres

GRAPH_OPTIONS = {"nodes": 60, "splits": 1}

PLAN = Plan.of([0], 4, size=3)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('storage') / 'shared.db'}"
        return
    with postgres.server() as address:
        yield address


@pytest.fixture
def url(storage: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(leases, "RENEW", 0.1)
    return storage


def space(hidden: int = 4) -> Space:
    return Space.of(["gpcn"], fixed={"epochs": 4, "patience": 4, "hidden": hidden})


def begun(graph: Graph, folder: Path, url: str) -> Ledger:
    """A study; those of one test are the same one, wherever their folders are."""
    seed = zlib.crc32(str(folder.parent).encode())
    return Ledger.create(folder, study_header(graph, space(), PLAN, seed=seed, source=None), url)


def test_two_studies_of_one_graph_in_one_storage_stay_two(graph: Graph, tmp_path: Path, url: str) -> None:
    for hidden, count in ((4, 3), (8, 6)):
        budget = Budget(configurations=count)
        tune(graph, space(hidden), PLAN, serial_executor(graph), out=tmp_path / str(hidden), budget=budget, storage=url)
    for hidden, count in ((4, 3), (8, 6)):
        trials = Ledger.open(tmp_path / str(hidden), url).trials
        assert len(trials) == count
        assert {trial.config["hidden"] for trial in trials} == {hidden}


def test_a_second_driver_from_elsewhere_is_refused_and_one_after_the_other_is_not(
    graph: Graph, tmp_path: Path, url: str
) -> None:
    first, second = begun(graph, tmp_path / "one", url), begun(graph, tmp_path / "two", url)
    with first.driven():
        with pytest.raises(CheckpointError, match="another driver .* is working on this study"), second.driven():
            pass
        first.add(0, 0, space().point("gpcn", {}))
    with second.driven():
        assert len(second.trials) == 1  # what the first wrote meanwhile


def lease(ledger: Ledger) -> Lease:
    return Lease(ledger._storage, f"study {ledger.seed}")


def test_of_three_that_begin_at_once_one_goes_on(graph: Graph, tmp_path: Path, url: str) -> None:
    ledger = begun(graph, tmp_path / "one", url)
    results: list[str] = []

    def try_it() -> None:
        try:
            lease(ledger).take()
            results.append("drives")
        except CheckpointError:
            results.append("refused")

    threads = [threading.Thread(target=try_it) for _ in range(3)]
    keep = lease(ledger)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        held, note = keep._other()
        if note:  # the keeper of whoever drives
            ledger._storage.set_study_user_attr(held, leases.KEY, note | {"beat": note["beat"] + 1})
        time.sleep(0.02)
    assert sorted(results) == ["drives", "refused", "refused"]


def test_the_killed_are_replaced_at_once_here_and_after_a_while_elsewhere(
    graph: Graph, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = begun(graph, tmp_path / "one", url)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    former, heir, last = lease(ledger), lease(ledger), lease(ledger)
    host, _, *where = former.me.split(":")
    former.me = ":".join([host, str(dead.pid), *where])
    former.take()
    with monkeypatch.context() as patient:
        patient.setattr(leases.time, "sleep", lambda _: pytest.fail("it waited for a process that is dead"))
        heir.take()
    with pytest.raises(CheckpointError, match="has taken this study over"):
        former.check()
    former.renew()
    former.release()
    heir.check()
    heir.me = f"{host}:{dead.pid}:elsewhere:y"  # a machine of the same name
    heir.renew()
    monkeypatch.setattr(leases, "LEASE", 0.3)
    last.take()
    with pytest.raises(CheckpointError, match="has taken this study over"):
        heir.check()


def test_who_lost_the_study_writes_nothing_more(graph: Graph, tmp_path: Path, url: str) -> None:
    ledger = begun(graph, tmp_path / "one", url)
    with ledger.driven():
        assert ledger._lease is not None
        ledger._storage.delete_study(ledger._lease._study)
        with pytest.raises(CheckpointError, match="taken this study over"):
            ledger.add(0, 0, space().point("gpcn", {}))
    assert not begun(graph, tmp_path / "two", url).trials


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://anna:secret@127.0.0.1:9/x", "cannot be opened at postgresql://127.0.0.1:9/x: "),
        (
            "postgresql+nodriver://anna:secret@127.0.0.1:9/x",
            "cannot be opened at postgresql\\+nodriver://127.0.0.1:9/x",
        ),
        ("nonsense", "cannot be opened at nonsense: "),
    ],
)
def test_a_storage_that_cannot_be_had_is_one_sentence_without_the_password(
    graph: Graph, tmp_path: Path, url: str, expected: str
) -> None:
    with pytest.raises(CheckpointError, match=expected) as caught:
        begun(graph, tmp_path / "one", url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
