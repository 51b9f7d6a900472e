"""`auto` as a whole: what it says, what it leaves on disk, that its time is kept, that it is used like any run."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcn import GPCNClassifier, Graph, save, synthesize
from gpcn.api.folder import open_run
from gpcn.core.errors import CheckpointError, ConfigError, DataError
from gpcn.explanation import can_be_explained, explain_average
from gpcn.runs.predictions.prediction import vote
from gpcn.search.auto import auto, members, refitted
from gpcn.search.auto.portfolio import Entry
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from tests.commands import in_process
from tests.search.auto.conftest import PORTFOLIO, SHORTEST, Clock, even

Chosen = tuple[Path, dict[str, Any], list[str]]


def test_it_says_what_it_tried_and_why(chosen: Chosen) -> None:
    _, result, said = chosen
    assert said[0].startswith("auto on synthetic") and "validation nodes of split 0" in said[0]
    assert [text for text in said if text.startswith("tried: majority")]
    assert set(result.why) <= set(said)
    assert any(text.startswith("chosen: ") for text in result.why)
    assert any(text.startswith("expected on test nodes") for text in result.why)
    assert {row.model for row in result.tried} >= {"logistic", "link", "multi-gpcn", "gpcn"}
    assert result.expected.low < result.expected.score < result.expected.high
    assert result.above_majority


def test_it_is_never_below_anything_it_has_seen(chosen: Chosen) -> None:
    _, result, _ = chosen
    assert result.judged >= max(row.score for row in result.tried) - 1e-9
    assert result.judged >= result.best_single - 1e-9


def test_what_it_reports_is_what_its_members_predict(ring: Graph, chosen: Chosen) -> None:
    folder, result, _ = chosen
    runs = members(folder)
    likely = np.mean([run.predictions(0) for run in runs], axis=0)
    test = ring.splits[0].test
    assert result.test_mean == pytest.approx(100 * (likely[test].argmax(1) == ring.labels[test]).mean())
    assert 1 <= len(runs) <= 8
    stored = json.loads((folder / "auto.json").read_text())
    assert stored["members"] == list(result.members) == [run.path.name for run in runs]
    np.testing.assert_allclose(vote(runs, ring).probabilities, likely, atol=1e-5)


def test_predictions_on_a_graph_given_anew_average_the_members(ring: Graph, chosen: Chosen, tmp_path: Path) -> None:
    folder, _, _ = chosen
    save(ring, tmp_path / "g.npz")
    words = ["predict", folder, tmp_path / "g.npz", "--out", tmp_path / "p.csv"]
    command = [sys.executable, "-W", "error", "-m", "gpcn", *map(str, words)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    likely = np.mean([run.predictions(0) for run in members(folder)], axis=0)
    names = ring.label_names or ()
    assert [row["predicted"] for row in rows] == [names[best] for best in likely.argmax(1)]


def test_the_same_call_goes_on_and_loses_nothing(
    ring: Graph, chosen: Chosen, virtual: Callable[..., Clock], tmp_path: Path
) -> None:
    import shutil

    folder, before, _ = chosen
    shutil.copytree(folder, tmp_path / "again")
    virtual(even)
    said: list[str] = []
    after = auto(
        ring,
        serial_executor(ring),
        out=tmp_path / "again",
        budget=Budget(seconds=2),
        splits=[0],
        portfolio=PORTFOLIO,
        log=said.append,
    )
    assert any("were tried before" in text for text in said)
    assert after.judged >= after.best_single >= before.best_single  # an average may be found not to pay
    earlier = {row.number: row.first_score for row in before.tried}
    later = {row.number: row.first_score for row in after.tried}
    assert earlier.keys() <= later.keys()


def test_a_slow_model_does_not_eat_the_budget(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    """Epochs of a second and more: the budget is kept, the best so far returned, and a warning says so."""
    clock = virtual(lambda model: {"multi-gpcn": 20.0, "gpcn": 3.0}.get(model, 0.5))
    start = clock.now
    result = auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=60), splits=[0], portfolio=PORTFOLIO)
    assert clock.now - start <= 66
    assert result.judged >= max(row.score for row in result.tried) - 1e-9
    assert len(result.tried) >= 3
    assert any("budget of 60 s was too small" in text and "would do" in text for text in result.warnings)
    assert result.skipped


def test_the_portfolio_comes_before_a_second_look_at_the_best(virtual: Callable[..., Clock], tmp_path: Path) -> None:
    """Two that end at once and one that leads are not enough to look at that one on further splits."""
    graph = synthesize(nodes=1600, classes=3, degree=6, homophily=0.05, mixing="ring", splits=3, seed=3)
    trivial = [Entry(f"spread {alpha}", "label-propagation", {"alpha": alpha, "layers": 1}) for alpha in (0.0, 0.5)]
    slow = [Entry(f"logistic {lr}", "logistic", {"lr": lr, "patience": 1000}) for lr in (0.1, 0.01, 0.003, 0.001, 3e-4)]
    links = [Entry(f"link {lr}", "link", {"lr": lr, "patience": 1000}) for lr in (0.1, 0.01, 0.003)]
    virtual(lambda model: 0.02)
    said: list[str] = []
    auto(
        graph,
        serial_executor(graph),
        out=tmp_path,
        budget=Budget(seconds=60),
        portfolio=[*trivial, *slow, *links],
        log=said.append,
    )
    tried = [text for text in said if text.startswith("tried: ")]
    elsewhere = next(number for number, text in enumerate(tried) if "in split-01" in text and "spread" not in text)
    before = {text.split(":")[1].strip() for text in tried[:elsewhere]}
    assert len(before) == 10


def test_even_one_second_gives_something(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    virtual(lambda model: 5.0)
    result = auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=1), splits=[0], portfolio=PORTFOLIO)
    assert result.chosen == "majority alone"
    assert not result.above_majority
    assert any("not clearly above" in text for text in result.warnings)
    assert any("too small" in text for text in result.warnings)


def test_several_splits_have_the_same_members(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    virtual(even)
    result = auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=8), portfolio=PORTFOLIO)
    assert [split.split for split in result.splits] == [0, 1]
    assert all(run.finished() == [0, 1] for run in members(tmp_path))
    assert result.test_std is not None


def test_few_labels_are_cross_validated_without_test_nodes(
    tiny: Graph, virtual: Callable[..., Clock], tmp_path: Path
) -> None:
    virtual(even)
    test = tiny.splits[0].test
    scrambled = tiny.labels.copy()
    scrambled[test] = (scrambled[test] + 1) % 3
    results = []
    for name, labels in (("a", tiny.labels), ("b", scrambled)):
        graph = replace(tiny, labels=labels)
        results.append(
            auto(graph, serial_executor(graph), out=tmp_path / name, budget=Budget(seconds=15), portfolio=SHORTEST)
        )
    first, second = results
    assert first.judged_by == "cross-validation"
    assert first.members == second.members
    assert first.judged == second.judged
    assert first.expected == second.expected
    assert first.test_mean != second.test_mean


def test_without_time_for_folds_what_was_measured_counts(
    tiny: Graph, virtual: Callable[..., Clock], tmp_path: Path
) -> None:
    """The first few are measured on the split; then the time is over before any fold is."""
    costs = iter([0.1] * 40)
    virtual(lambda model: next(costs, 30.0))
    result = auto(tiny, serial_executor(tiny), out=tmp_path, budget=Budget(seconds=20), portfolio=SHORTEST)
    assert result.judged_by in ("validation nodes", "cross-validation")
    assert result.tried


def test_it_ends_before_chance_decides(tiny: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    """On few judged nodes the best of very many is the luckiest; the time that is left is not used for more."""
    clock = virtual(lambda model: 0.01)
    before, said = clock.now, []
    result = auto(
        tiny, serial_executor(tiny), out=tmp_path, budget=Budget(seconds=3000), portfolio=SHORTEST, log=said.append
    )
    judged = tiny.splits[0].train.size + tiny.splits[0].val.size  # each held out once
    assert result.judged_by == "cross-validation"
    assert result.configurations == round(0.7 * judged)
    assert any("more would win by chance" in text for text in said)
    assert clock.now - before < 3000


def test_what_was_spent_before_counts(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    clock = virtual(even)
    before = clock.now
    result = auto(
        ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=9, spent=5), splits=[0], portfolio=PORTFOLIO
    )
    assert clock.now - before <= 1.1 * 9 - 5
    assert result.seconds == pytest.approx(clock.now - before + 5)
    assert result.budget == 9


def test_all_of_the_budget_may_be_spent_before(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    """Reading takes longer than the budget: the first of the portfolio is tried, and a warning says where time went."""
    clock = virtual(even)
    before = clock.now
    result = auto(
        ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=9, spent=30), splits=[0], portfolio=PORTFOLIO
    )
    assert clock.now - before == pytest.approx(even("label-propagation"))
    assert result.chosen == "majority alone"
    assert any(
        "it took 31 s instead of 9 s, of which 30 s went to importing and reading" in text for text in result.warnings
    )


def test_nothing_is_begun_whose_first_epoch_would_end_too_late(
    ring: Graph, virtual: Callable[..., Clock], tmp_path: Path
) -> None:
    clock = virtual(lambda model: 6.0)
    start = clock.now
    auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=15), portfolio=PORTFOLIO[:2])
    assert clock.now - start == 12  # of 14.25 seconds, two evaluations of six each


@pytest.mark.parametrize(("seconds", "words"), [(90, "90 s"), (60, "60 s"), (150, "2 min 30 s"), (120, "2 min")])
def test_a_budget_is_named_to_the_second(
    seconds: int, words: str, ring: Graph, virtual: Callable[..., Clock], tmp_path: Path
) -> None:
    virtual(lambda model: seconds / 6)
    result = auto(
        ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=seconds), splits=[0], portfolio=PORTFOLIO
    )
    assert any(f"budget of {words} was too small" in text for text in result.warnings)


def test_refitting_is_for_predictions_alone(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    virtual(even)
    options: dict[str, Any] = {"splits": [0], "portfolio": PORTFOLIO}
    plain = auto(ring, serial_executor(ring), out=tmp_path / "plain", budget=Budget(seconds=6), **options)
    result = auto(ring, serial_executor(ring), out=tmp_path / "refit", budget=Budget(seconds=6), refit=True, **options)
    assert result.refitted and not plain.refitted
    honest = np.mean([run.predictions(0) for run in members(tmp_path / "refit")], axis=0)
    val, test = ring.splits[0].val, ring.splits[0].test
    assert result.test_mean == pytest.approx(100 * (honest[test].argmax(1) == ring.labels[test]).mean())
    final = np.mean([run.predictions(0) for run in refitted(tmp_path / "refit")], axis=0)
    assert (final[val].argmax(1) == ring.labels[val]).mean() >= (honest[val].argmax(1) == ring.labels[val]).mean()
    assert not np.allclose(final, honest)
    assert [run.path for run in refitted(tmp_path / "plain")] == [run.path for run in members(tmp_path / "plain")]


def test_refitting_keeps_the_budget_and_goes_on(
    ring: Graph, virtual: Callable[..., Clock], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members that pass the end are left out and predict as before; the next call finishes."""
    clock = virtual(even)
    options: dict[str, Any] = {"splits": [0], "portfolio": PORTFOLIO, "refit": True, "out": tmp_path}
    ended = clock.now + 6 * 1.05
    monkeypatch.setattr("gpcn.search.auto.driver.OVERTIME", 0.5)
    result = auto(ring, serial_executor(ring), budget=Budget(seconds=6), **options)
    assert clock.now <= ended
    assert not result.refitted and any("no time to refit" in text for text in result.warnings)
    assert [run.path for run in refitted(tmp_path)] == [run.path for run in members(tmp_path)]
    monkeypatch.setattr("gpcn.search.auto.driver.OVERTIME", 10.0)
    result = auto(ring, serial_executor(ring), budget=Budget(seconds=6), **options)
    assert result.refitted_members == tuple(dict.fromkeys(result.members))
    assert {run.path.parent.name for run in refitted(tmp_path)} == {"refitted"}


def test_explanation_is_the_average_of_the_members(ring: Graph, chosen: Chosen) -> None:
    folder, _, _ = chosen
    runs = members(folder)
    if not any(can_be_explained(run) for run in runs):
        pytest.skip("no member is a sum over hops")
    account = explain_average(runs, ring, "5", top=3)
    for shares in ("winner", "margin"):
        assert sum(getattr(part, shares) for part in account.parts) == pytest.approx(getattr(account.sum, shares))
    assert sum(account.origins.values()) == pytest.approx(account.sum.margin)
    assert len(account.features) == 3
    assert account.sentences[0].startswith(f"5 is predicted {account.predicted} with ")
    likely = vote(runs, ring).probabilities[5]
    assert account.probability == pytest.approx(likely.max(), abs=1e-5)
    assert sum(member.share for member in account.members) == pytest.approx(1)
    undecomposed = [member for member in account.members if not member.decomposed]
    assert bool(undecomposed) == any("cannot be decomposed" in note for note in account.notes)
    by_class = open_run(folder, graph=ring).explain_class(account.predicted)
    assert (by_class.model, by_class.members) == ("auto", account.members)


def test_what_cannot_be_decomposed_is_said(ring: Graph, virtual: Callable[..., Clock], tmp_path: Path) -> None:
    virtual(lambda model: 5.0)
    auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=1), splits=[0], portfolio=PORTFOLIO)
    with pytest.raises(ConfigError, match="what auto chose cannot be decomposed: label-propagation"):
        explain_average(members(tmp_path), ring, "5")


def test_the_estimator_says_why_and_predicts_probabilities(ring: Graph) -> None:
    nodes = ring.labelled
    model = GPCNClassifier("auto", graph=ring, budget=10, random_state=1).fit(nodes[:400], ring.labels[nodes[:400]])
    assert model.auto_.why
    assert model.auto_.judged >= max(row.score or -math.inf for row in model.auto_.tried) - 1e-9
    np.testing.assert_allclose(model.predict_proba(nodes).sum(1), 1)


def test_no_time_is_refused(ring: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected more than none"):
        auto(ring, serial_executor(ring), out=tmp_path, budget=Budget(seconds=0))


def test_splits_and_folders_are_checked_first(ring: Graph, tiny: Graph, chosen: Chosen, tmp_path: Path) -> None:
    executor = serial_executor(ring)
    with pytest.raises(ConfigError, match="there is no split 9"):
        auto(ring, executor, out=tmp_path / "a", budget=Budget(seconds=3), splits=[9])
    with pytest.raises(DataError, match="has no splits"):
        auto(replace(ring, splits=()), executor, out=tmp_path / "a", budget=Budget(seconds=3))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a run of another model"):
        auto(ring, executor, out=tmp_path / "run", budget=Budget(seconds=3))
    with pytest.raises(ConfigError, match="on another graph, metric or seed"):
        auto(tiny, serial_executor(tiny), out=chosen[0], budget=Budget(seconds=3))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "auto.json").write_text("{}")
    with pytest.raises(ConfigError, match="has lost the candidates of its choice"):
        auto(ring, executor, out=tmp_path / "old", budget=Budget(seconds=3))


@pytest.mark.parametrize("text", ["{", "{}", '{"members": []}', '{"members": ["../../etc"], "why": []}'])
def test_a_damaged_choice_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "auto.json").write_text(text)
    with pytest.raises(CheckpointError, match="auto.json"):
        members(tmp_path)


def test_options_that_do_not_go_together_are_one_sentence(tmp_path: Path, ring: Graph) -> None:
    save(ring, tmp_path / "g.npz")
    for words, expected in (
        (["train", "g.npz", "--model", "auto", "--set", "hidden=8", "--out", "r"], "chooses all settings"),
        (["train", "g.npz", "--model", "auto"], "name a folder with --out"),
        (["train", "g.npz", "--model", "gpcn", "--refit"], "--refit is for --model auto"),
        (["auto", "g.npz", "--budget", "soon"], "expected a time"),
        (["auto", "g.npz", "--portfolio", "g.npz"], "portfolio"),
    ):
        answer = in_process(*words, cwd=tmp_path)
        assert answer.returncode == 2
        assert expected in answer.stderr
        assert answer.stderr.count("\n") == 1


def test_a_folder_deleted_while_auto_searches_ends_it_and_is_not_made_anew(ring: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    with pytest.raises(CheckpointError, match="is gone: it was deleted or moved while it was worked on"):
        auto(
            ring,
            serial_executor(ring),
            out=folder,
            budget=Budget(seconds=30),
            log=lambda text: shutil.rmtree(folder, True),
        )
    assert not folder.exists()
