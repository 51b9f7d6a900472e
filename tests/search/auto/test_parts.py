"""The parts of `auto`: holdouts, selection, the interval, neighbours, portfolios, costs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpcn import Graph, Split, synthesize
from gpcn.core.errors import ConfigError
from gpcn.nn import zoo
from gpcn.search.auto.config_neighbours import neighbour_choices, neighbouring_config
from gpcn.search.auto.cost import EpochCosts
from gpcn.search.auto.ensemble import MOST_MEMBERS, Judge, Row, Selection, select_ensemble
from gpcn.search.auto.evaluation import Evaluation
from gpcn.search.auto.expected_score import expected_score
from gpcn.search.auto.final_training import FinalTraining
from gpcn.search.auto.holdouts import holdout_of_folds, holdout_of_split, needs_cross_validation, search_stages
from gpcn.search.auto.portfolio import default_portfolio, portfolio_text, read_portfolio
from gpcn.training.config import TrainConfig


def noisy(graph: Graph, nodes: np.ndarray, right: float, rng: np.random.Generator) -> np.ndarray:
    """Probabilities that are right at a share of `nodes`."""
    classes = graph.num_classes
    labels = graph.labels[nodes]
    guessed = np.where(rng.random(nodes.size) < right, labels, (labels + 1) % classes)
    likely = rng.dirichlet(np.ones(classes), nodes.size).astype(np.float32) * 0.3
    likely[np.arange(nodes.size), guessed] += 0.7
    return likely


class TestHoldouts:
    def test_folds_hold_out_every_labelled_node_once_and_no_test_node(self, tiny: Graph) -> None:
        holdout = holdout_of_folds(tiny, 0, 0, 0)
        outer = tiny.splits[0]
        pool = np.sort(np.concatenate([outer.train, outer.val]))
        assert np.array_equal(np.sort(holdout.nodes), pool)
        for split in holdout.splits:
            seen = np.concatenate([split.train, split.val, split.test])
            assert np.array_equal(np.sort(seen), pool)
            assert not np.intersect1d(seen, outer.test).size

    def test_repetitions_differ(self, tiny: Graph) -> None:
        first, second = (holdout_of_folds(tiny, 0, repetition, 0) for repetition in (0, 1))
        assert not np.array_equal(first.splits[0].test, second.splits[0].test)

    def test_graphs_of_few_validation_nodes_are_cross_validated(self, tiny: Graph, ring: Graph) -> None:
        assert needs_cross_validation(tiny, [0])
        assert not needs_cross_validation(ring, [0])
        order = np.random.default_rng(0).permutation(ring.labelled)
        two = Split(train=np.sort(order[:400]), val=np.sort(order[400:402]), test=np.sort(order[402:]))
        assert needs_cross_validation(replace(ring, splits=(two,)), [0])

    def test_stages_grow(self, ring: Graph, tiny: Graph) -> None:
        for graph, numbers in ((ring, [0]), (ring, [0, 1]), (tiny, [0])):
            stages = search_stages(graph, numbers, 1000, 0)
            sizes = [(len(stage.holdouts), stage.epochs) for stage in stages]
            assert sizes == sorted(sizes)

    def test_one_validation_node_is_no_error(self, ring: Graph) -> None:
        order = ring.labelled
        one = Split(train=order[:300], val=order[300:301], test=order[301:])
        graph = replace(ring, splits=(one,))
        holdout = holdout_of_split(graph, 0)
        assert holdout.score(graph, np.full((1, 3), 1 / 3, dtype=np.float32)) in (0.0, 100.0)


class TestSelection:
    def rows(self, graph: Graph, rights: list[float]) -> tuple[Judge, list[Row]]:
        holdout = holdout_of_split(graph, 0)
        rng = np.random.default_rng(0)
        rows = [
            Row(number, "loss", f"m{number}", (noisy(graph, holdout.nodes, right, rng),))
            for number, right in enumerate(rights)
        ]
        return Judge(graph, [holdout]), rows

    def test_different_weak_ones_are_better_together(self, ring: Graph) -> None:
        judge, rows = self.rows(ring, [0.62, 0.61, 0.6, 0.6, 0.59, 0.3])
        chosen = select_ensemble(judge, rows)
        assert len(chosen.members) > 1
        assert sum(count for _, count in chosen.members) <= MOST_MEMBERS
        assert chosen.gain == pytest.approx(judge.gain(chosen.blended()))
        assert chosen.gain >= chosen.single == max(judge.gain(row.predictions) for row in rows)

    def test_where_averaging_does_not_pay_the_best_stays_alone(self, ring: Graph) -> None:
        judge, rows = self.rows(ring, [0.99, 0.4, 0.35])
        chosen = select_ensemble(judge, rows)
        assert [(row.number, count) for row, count in chosen.members] == [(0, 1)]

    def test_two_rules_that_predict_the_same_are_one_candidate(self, ring: Graph) -> None:
        judge, (row, _) = self.rows(ring, [0.8, 0.4])
        chosen = select_ensemble(judge, [row, replace(row, rule="metric")])
        assert [(member.rule, count) for member, count in chosen.members] == [("loss", 1)]

    def test_the_best_of_many_alike_is_not_taken_alone(self, ring: Graph) -> None:
        """Whoever is the best of thirty equals is so by luck: their average is better on nodes that chose nobody."""
        ahead = 0
        for draw in range(10):
            rng = np.random.default_rng(draw)
            holdout = holdout_of_split(ring, 0)
            everywhere = [noisy(ring, np.arange(ring.num_nodes), 0.6, rng) for _ in range(30)]
            rows = [Row(i, "loss", f"m{i % 4}", (likely[holdout.nodes],)) for i, likely in enumerate(everywhere)]
            judge, test = Judge(ring, [holdout]), ring.splits[0].test
            chosen = select_ensemble(judge, rows)
            luckiest = max(rows, key=lambda row: judge.gain(row.predictions))
            average = np.average([everywhere[row.number] for row, _ in chosen.members], axis=0,
                                 weights=[count for _, count in chosen.members])  # fmt: skip
            right = [
                (likely[test].argmax(1) == ring.labels[test]).mean()
                for likely in (average, everywhere[luckiest.number])
            ]
            ahead += bool(right[0] > right[1])
        assert ahead >= 9

    def test_choosing_among_noise_is_not_believed(self, ring: Graph) -> None:
        """Sixty guessers: the best looks better than it is, and the crosswise score says so."""
        judge, rows = self.rows(ring, [1 / 3] * 60)
        chosen = select_ensemble(judge, rows)
        assert chosen.crosswise < chosen.gain - 2
        assert abs(chosen.crosswise - 100 / 3) < 8
        expected = expected_score(ring, judge.holdouts, [0], chosen, 0)
        assert expected.low < 100 / 3 < expected.high
        reach = expected.score - expected.low
        assert expected.high == pytest.approx(chosen.gain + reach)  # all judged nodes chose, not one half


class TestFinish:
    """Three splits. The best was judged on the first one and takes ten seconds; a worse member takes one."""

    def finish(self, graph: Graph, seconds: float) -> tuple[Selection, FinalTraining, Judge]:
        rng = np.random.default_rng(0)
        judge = Judge(graph, [holdout_of_split(graph, 0)])
        nodes = judge.holdouts[0].nodes
        rows = [
            Row(number, "loss", "gpcn", (noisy(graph, nodes, right, rng),)) for number, right in ((0, 0.6), (1, 0.9))
        ]
        together = Selection(((rows[0], 5), (rows[1], 1)), 0.0, 60.0, 90.0, 88.0)
        candidates = {number: SimpleNamespace(judgements={"split-00": SimpleNamespace(seconds=took)}, config=None)
                      for number, took in ((0, 1.0), (1, 10.0))}  # fmt: skip
        trained = {(0, "split-00"), (1, "split-00")}

        def record(task: Evaluation, outcome: object) -> None:
            candidates[task.number].judgements[task.holdout.name] = SimpleNamespace(seconds=1.0)
            trained.add((task.number, task.holdout.name))

        store = SimpleNamespace(has_state=lambda number, holdout: (number, holdout) in trained)
        search = SimpleNamespace(candidates=candidates, store=store, stages=(), record=record)
        executor = SimpleNamespace(workers=1, run=lambda tasks, until: ((task, {}) for task in tasks))
        return together, FinalTraining(graph, executor, search, [0, 1, 2], time.monotonic() + seconds), judge  # type: ignore[arg-type]

    @pytest.fixture
    def three(self, ring: Graph) -> Graph:
        return replace(ring, splits=(*ring.splits, ring.splits[0]))

    @pytest.mark.parametrize(("seconds", "splits"), [(3, [0]), (12, [0, 1]), (60, [0, 1, 2])])
    def test_the_best_is_not_given_up_for_who_has_time_for_all_splits(
        self, three: Graph, seconds: float, splits: list[int]
    ) -> None:
        together, finish, judge = self.finish(three, seconds)
        kept = finish.train(together, judge)
        assert [(row.number, count) for row, count in kept.members] == [(1, 1)]
        assert kept.gain == judge.gain(kept.members[0][0].predictions)
        assert kept.crosswise <= kept.gain
        assert finish.trained == splits

    def test_members_that_help_are_trained_beside_it(self, three: Graph) -> None:
        together, finish, judge = self.finish(three, 60)
        (weak, _), (best, _) = together.members
        helping = replace(together, members=((best, 7), (weak, 1)), gain=judge.gain(best.predictions))
        assert finish.train(helping, judge) is helping
        assert finish.trained == [0, 1, 2]


class TestInterval:
    def test_no_mistake_on_judged_nodes_is_no_certainty(self, ring: Graph) -> None:
        holdout = holdout_of_split(ring, 0)
        perfect = np.eye(ring.num_classes)[ring.labels[holdout.nodes]]
        chosen = select_ensemble(Judge(ring, [holdout]), [Row(0, "loss", "gpcn", (perfect,))])
        expected = expected_score(ring, [holdout], [0], chosen, 0)
        assert expected.score == expected.high == 100
        assert expected.low < 100 - 100 / holdout.nodes.size

    def test_it_contains_the_test_score_in_most_draws(self, ring: Graph) -> None:
        hits, draws = 0, 25
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            order = rng.permutation(ring.labelled)
            split = Split(train=np.sort(order[:300]), val=np.sort(order[300:450]), test=np.sort(order[450:600]))
            graph = replace(ring, splits=(split,))
            holdout = holdout_of_split(graph, 0)
            everywhere = [noisy(graph, np.arange(graph.num_nodes), 0.7, rng) for _ in range(10)]
            rows = [Row(i, "loss", f"m{i % 3}", (likely[split.val],)) for i, likely in enumerate(everywhere)]
            chosen = select_ensemble(Judge(graph, [holdout]), rows)
            likely = np.average([everywhere[row.number] for row, _ in chosen.members], axis=0,
                                weights=[count for _, count in chosen.members])  # fmt: skip
            test = 100 * float((likely[split.test].argmax(1) == graph.labels[split.test]).mean())
            expected = expected_score(graph, [holdout], [0], chosen, 0)
            hits += expected.low <= test <= expected.high
        assert hits >= 0.8 * draws


class TestNeighbours:
    def test_one_or_two_settings_differ_and_nothing_is_tried_twice(self, ring: Graph) -> None:
        config = TrainConfig.of("multi-gpcn", lr=0.01)
        tried = {config.canonical()}
        for number in range(10):
            near = neighbouring_config(ring, config, tried, np.random.default_rng(number))
            assert near is not None
            assert 1 <= len(config.differences(near)) <= 2
            assert near.canonical() not in tried
            tried.add(near.canonical())

    def test_directions_are_for_directed_graphs(self, ring: Graph) -> None:
        directed = synthesize(nodes=100, classes=2, splits=1, seed=1, directed=True)
        assert "direction" not in neighbour_choices(ring, "gpcn")
        assert "in" in neighbour_choices(directed, "gpcn")["direction"]


class TestPortfolio:
    def test_models_of_all_kinds_are_in_it(self) -> None:
        models = {entry.model for entry in default_portfolio()}
        assert {"logistic", "mlp", "trees", "link", "label-propagation", "gcn", "linkx"} <= models
        assert {*zoo.names("bank"), "gpcn", "gpcn-link", "agpcn", "agpcn-link", "deep-gcn", "deep-sage"} <= models

    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text(portfolio_text(default_portfolio()))
        assert read_portfolio(tmp_path / "p.json") == default_portfolio()

    @pytest.mark.parametrize(
        "rows", ["{", [], [{"title": "x"}], [{"title": "x", "model": "gpcn", "settings": {"b": 1}}]]
    )
    def test_what_is_none_is_one_sentence(self, rows: object, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text(rows if isinstance(rows, str) else json.dumps(rows))
        with pytest.raises(ConfigError, match="portfolio"):
            read_portfolio(tmp_path / "p.json")

    def test_a_graph_without_features_has_models_too(self, ring: Graph) -> None:
        bare = replace(ring, features=np.zeros((ring.num_nodes, 0), dtype=np.float32), feature_names=None)
        assert {entry.model for entry in default_portfolio() if entry.fits(bare)} >= {"link", "trees"}


def test_one_epoch_tells_nothing_of_what_others_cost(ring: Graph) -> None:
    """Label propagation has one, and preparing it takes longer than that."""
    clock, other = EpochCosts(ring), TrainConfig.of("gpcn")
    before = clock.seconds_per_epoch(other)
    clock.measured(TrainConfig.of("label-propagation"), 1, 5.0)
    assert clock.seconds_per_epoch(other) == before


def test_costs_are_learned(ring: Graph) -> None:
    clock = EpochCosts(ring)
    config, other = TrainConfig.of("gpcn"), TrainConfig.of("gpcn", hidden=128)
    before = clock.seconds_per_epoch(other)
    clock.measured(config, 10, 100.0)
    assert clock.seconds_per_epoch(config) == 10.0
    assert clock.seconds_per_epoch(other) > before
