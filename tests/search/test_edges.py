"""What a review broke once: budgets raised, scores undefined, members that fail, damage, options at the wrong time."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcn import save, synthesize
from gpcn.core.errors import CheckpointError, ConfigError
from gpcn.records.reading import encode
from gpcn.records.sealed import FORMAT
from gpcn.search.budget import Budget
from gpcn.search.executors import local_executor, serial_executor
from gpcn.search.ledger import Ledger
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.storage import storage_location
from gpcn.search.study import best, tune
from gpcn.search.study_header import read_study_header, study_header
from gpcn.search.summary import describe_study
from gpcn.search.tasks import TrialTask
from gpcn.training import probe as probes
from gpcn.training.config import TrainConfig
from gpcn.training.probe import probe, validation_halves
from tests.commands import Answer, in_process
from tests.damage import sealed
from tests.graphs import graph_with_few_positives

GRAPH = synthesize(nodes=60, classes=2, splits=3, seed=1)


class Dice:
    """Evaluates nothing: the score of a task is a matter of its number, split and epochs alone."""

    workers = 1

    def __init__(self, fails: set[tuple[int, int]] = frozenset()) -> None:  # type: ignore[assignment]
        self.fails, self.requested = fails, []

    def run(self, tasks: Any, until: float = 0) -> Any:
        for task in tasks:
            self.requested.append((task.trial, task.key))
            if (task.trial, task.split) in self.fails:
                yield task, {"failed": "it was its turn", "seconds": 0.1}
                continue
            epochs = int(task.config["epochs"])
            drawn = np.random.default_rng([task.trial, task.split, epochs]).uniform(50, 90, 2)
            score = {"loss": float(drawn[0]), "metric": float(drawn[1]), "epochs": epochs, "seconds": 0.1}
            yield task, score | {"test": {"loss": float(task.split + 100 * epochs), "metric": 0.0}}

    def close(self) -> None:
        pass


def space(**fixed: object) -> Space:
    return Space.of(["gpcn"], fixed={"epochs": 9, "patience": 9, "hidden": 4, **fixed})


def studied(folder: Path, executor: Any, count: int, size: int = 12, **options: Any) -> Ledger:
    plan = Plan.of([0, 1, 2], 9, size=size)
    return tune(GRAPH, space(), plan, executor, out=folder, budget=Budget(configurations=count), **options)


@pytest.mark.parametrize("first", range(1, 12))
def test_a_budget_may_be_raised_at_any_number(first: int, tmp_path: Path) -> None:
    for count in (first, first + 1, 12, 20):
        ledger = studied(tmp_path, Dice(), count)
        assert len(ledger.trials) == count
        assert all(trial.state != "running" for trial in ledger.trials)
    last = max(trial.generation for trial in ledger.trials)
    for generation in range(last + 1):
        states = [trial.state for trial in ledger.trials if trial.generation == generation]
        assert states.count("complete") == min(2, len(states))


def test_all_splits_of_a_rung_are_evaluated_whoever_fails_on_one(tmp_path: Path) -> None:
    fails = {(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)}
    whole = Dice(fails)
    studied(tmp_path / "whole", whole, 6, size=6)

    class Stops(Dice):
        def run(self, tasks: Any, until: float = 0) -> Any:
            for evaluation in super().run(tasks, until):
                yield evaluation
                raise KeyboardInterrupt

    parts: list[tuple[int, str]] = []
    for _ in range(len(whole.requested)):
        part = Stops(fails)
        try:
            studied(tmp_path / "parts", part, 6, size=6)
        except KeyboardInterrupt:
            parts += part.requested
    assert sorted(parts) == sorted(whole.requested)


def test_nobody_who_failed_is_among_the_best_and_test_scores_are_of_the_last_rung(tmp_path: Path) -> None:
    ledger = studied(tmp_path, Dice({(number, 2) for number in range(6)}), 12)
    assert {trial.state for trial in ledger.trials if trial.failed} == {"diverged"}
    assert any(trial.failed for trial in ledger.trials)
    ranking = best(ledger)
    assert not [trial for trial, _, _ in ranking if trial.failed]
    row = next(row for row in describe_study(ledger).best if row.state == "complete" and row.select == "loss")
    assert row.test == 901.0  # splits 0 to 2 of nine epochs, and none of three
    assert row.splits == 3


def test_a_small_space_is_tried_whole_and_nothing_twice(tmp_path: Path) -> None:
    small = Space.of(["gpcn", "mlp"], fixed={"epochs": 9, "patience": 9})
    few = replace(
        small,
        choices={"gpcn": {"layers": (1, 2, 4), "bias": (True, False)}, "mlp": {"dropout": (0.0, 0.5)}},
    )
    assert few.size() == 8
    assert len({json.dumps(point, sort_keys=True) for point in few.shuffled(0)}) == 8
    ledger = tune(GRAPH, few, Plan.of([0], 9, size=4), Dice(), out=tmp_path, budget=Budget(configurations=100))
    assert len({trial.config.canonical() for trial in ledger.trials}) == len(ledger.trials) == 8


@pytest.mark.parametrize(("positives", "others"), [(2, 8), (1, 8), (1, 1), (3, 9)])
def test_few_positives_are_dealt_out(positives: int, others: int) -> None:
    graph = graph_with_few_positives(positives, others)
    nodes = graph.splits[0].val
    labels = graph.labels[nodes]
    for number in range(20):
        first, second = validation_halves(graph, nodes, number)
        assert {0, 1} == set(labels[first]) == set(labels[second])
        assert set(first) | set(second) == set(range(len(labels)))
    scores = probe(graph, TrainConfig.of("mlp", hidden=4, epochs=5), 0)
    assert np.isfinite([scores["loss"], scores["metric"]]).all()


def test_halves_stay_what_they_were_where_they_can_be_scored() -> None:
    drawn = np.random.default_rng(3).permutation(11)
    first, second = validation_halves(graph_with_few_positives(2, 8).with_metric("accuracy"), np.arange(11), 3)
    np.testing.assert_array_equal(np.concatenate([first, second]), drawn)
    assert len(first) == 5


def test_judging_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig.of("gpcn", hidden=4, epochs=20)
    whole = probe(GRAPH, config, 0, with_test=True)
    monkeypatch.setattr(probes, "MOST_KEPT", 3 * len(GRAPH.splits[0].val) * 2)
    assert probe(GRAPH, config, 0, with_test=True) == whole


def test_scores_that_do_not_exist_fail_or_are_left_out(tmp_path: Path) -> None:
    graph = graph_with_few_positives(2, 8)
    one_class = replace(graph.splits[0], test=np.r_[30:35])
    only_test = replace(graph, splits=(one_class,))
    settings = TrainConfig.of("mlp", hidden=4, epochs=5)
    ((_, outcome),) = serial_executor(only_test).run([TrialTask(0, settings, 0)])
    assert outcome["test"] == {"loss": None, "metric": None}
    only_zero = replace(graph, splits=(replace(graph.splits[0], val=np.r_[50:60]),))
    ((_, outcome),) = serial_executor(only_zero).run([TrialTask(0, settings, 0)])
    assert "cannot choose by ROC-AUC, which needs two classes" in outcome["refused"]
    plan = Plan.of([0], 9, size=2)
    budget = Budget(configurations=2)
    ledger = tune(only_test, space(), plan, serial_executor(only_test), out=tmp_path / "test", budget=budget)
    json.dumps(encode(describe_study(ledger)), allow_nan=False)
    assert not any(trial.failed for trial in Ledger.read(tmp_path / "test").trials)
    with pytest.raises(ConfigError, match="validation nodes of split 0 cannot choose by ROC-AUC"):
        tune(only_zero, space(), plan, serial_executor(only_zero), out=tmp_path / "val", budget=budget)


@pytest.mark.parametrize("make", [serial_executor, lambda graph: local_executor(graph, 1)])
def test_a_graph_that_cannot_be_learned_from_is_refused_by_every_executor(make: Any, tmp_path: Path) -> None:
    alone = replace(GRAPH, labels=GRAPH.labels * 0)
    executor = make(alone)
    try:
        with pytest.raises(ConfigError, match="1 class"):
            tune(alone, space(), Plan.of([0], 9, size=2), executor, out=tmp_path, budget=Budget(configurations=2))
    finally:
        executor.close()


def test_minus_one_job_is_every_core() -> None:
    executor = local_executor(GRAPH, -1)
    assert executor.workers == os.cpu_count()
    executor.close()


def damaged(change: Any) -> dict[str, Any]:
    payload = {"format": FORMAT} | encode(study_header(GRAPH, space(), Plan.of([0], 9), seed=0, source=None))
    change(payload)
    return payload


@pytest.mark.parametrize(
    "change",
    [
        lambda payload: payload.pop("seed"),
        lambda payload: payload.pop("first"),
        lambda payload: payload.pop("graph"),
        lambda payload: payload.update(graph="texas"),
        lambda payload: payload.update(seed="x"),
        lambda payload: payload["plan"].update(rungs=[]),
        lambda payload: payload["plan"]["rungs"][0].update(splits=[]),
        lambda payload: payload["plan"]["rungs"][0].update(keep=0),
        lambda payload: payload["space"].update(models=[]),
        lambda payload: payload["space"]["choices"]["gpcn"].update(lr=[]),
        lambda payload: payload["space"].update(models=["gpnc"]),
        lambda payload: payload["graph"].update(metric=5),
        lambda payload: payload["graph"].update(source="x"),
    ],
)
def test_a_header_that_makes_no_sense_is_one_sentence(change: Any, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(sealed(damaged(change)))
    with pytest.raises(CheckpointError, match="study.json is damaged"):
        read_study_header(tmp_path)


def test_records_that_make_no_sense_are_one_sentence(tmp_path: Path) -> None:
    ledger = studied(tmp_path, Dice(), 2, size=2)
    ledger._storage.set_trial_user_attr(ledger._storage.create_new_trial(ledger._study), "gpcn_number", 2)
    with pytest.raises(CheckpointError, match="configuration 2 of the study in .* is damaged: generation is missing"):
        Ledger.read(tmp_path)


def run(*words: object, cwd: Path) -> Answer:
    return in_process("tune", *words, cwd=cwd)


def test_resuming_remembers_budget_and_storage_and_takes_no_other_settings(tmp_path: Path) -> None:
    save(GRAPH, tmp_path / "g.npz")
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    new = ("g.npz", "--model", "gpcn", "--set", "epochs=4", "--set", "hidden=4", "--generation", 2, "--jobs", 1)
    answer = run(*new, "--budget", 3, "--out", "s", "--storage", url, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    for words, expected in (
        (("--resume", "s"), "name its address with --storage"),
        (("--show", "s"), "name its address with --storage"),
        (("--resume", "s", "--storage", url, "--set", "hidden=8"), "--set is for a new study"),
        (("--show", "s", "--storage", f"sqlite:///{tmp_path / 'typo.db'}"), "has no evaluations at"),
        (("g.npz", "--out", "t", "--try", "epochs=3,4"), "set the most with --set epochs=N"),
        (("g.npz", "--out", "t", "--try", "gamma"), "--try 'gamma' is not of the form"),
        (("g.npz", "--out", "t", "--try", "lr=0.1", "--set", "lr=0.2"), "lr is both set and tried"),
        (("g.npz", "--out", "t", "--splits", "0-999999999"), "more splits than any graph has"),
    ):
        refusal = run(*words, cwd=tmp_path)
        assert refusal.returncode == 2, words
        assert expected in refusal.stderr
        assert refusal.stderr.count("\n") == 1
    assert not (tmp_path / "typo.db").exists()
    assert not (tmp_path / "s" / "study.db").exists()
    again = run("--resume", "s", "--storage", url, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["configurations"] == 3


@pytest.mark.parametrize(
    "url",
    ["postgresql://anna:se/cret@h/x", "postgresql://anna:se@cret@h/x", "postgresql://h/x?password=secret", "se@cret"],
)
def test_no_password_is_ever_shown(url: str, tmp_path: Path) -> None:
    shown = storage_location(tmp_path, url)
    assert "cret" not in shown.replace("se@cret", "") or url == "se@cret"
    assert "anna" not in shown
