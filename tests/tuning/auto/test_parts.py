"""The parts of `auto`: arenas, selection, the interval, neighbours, portfolios, costs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpcn import Graph, Split, synthesize
from gpcn.errors import ConfigError
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig
from gpcn.tuning.auto.arenas import fold_arena, needs_folds, split_arena, stages_for
from gpcn.tuning.auto.cost import Clock
from gpcn.tuning.auto.ensemble import MOST_MEMBERS, Judge, Row, select
from gpcn.tuning.auto.interval import expect
from gpcn.tuning.auto.neighbours import choices_for, neighbour
from gpcn.tuning.auto.portfolio import default_portfolio, read_portfolio, write_text


def noisy(graph: Graph, nodes: np.ndarray, right: float, rng: np.random.Generator) -> np.ndarray:
    """Probabilities that are right at a share of `nodes`."""
    classes = graph.num_classes
    labels = graph.labels[nodes]
    guessed = np.where(rng.random(nodes.size) < right, labels, (labels + 1) % classes)
    likely = rng.dirichlet(np.ones(classes), nodes.size).astype(np.float32) * 0.3
    likely[np.arange(nodes.size), guessed] += 0.7
    return likely


class TestArenas:
    def test_folds_hold_out_every_labelled_node_once_and_no_test_node(self, tiny: Graph) -> None:
        arena = fold_arena(tiny, 0, 0, 0)
        outer = tiny.splits[0]
        pool = np.sort(np.concatenate([outer.train, outer.val]))
        assert np.array_equal(np.sort(arena.nodes), pool)
        for split in arena.splits:
            seen = np.concatenate([split.train, split.val, split.test])
            assert np.array_equal(np.sort(seen), pool)
            assert not np.intersect1d(seen, outer.test).size

    def test_repetitions_differ(self, tiny: Graph) -> None:
        first, second = (fold_arena(tiny, 0, repetition, 0) for repetition in (0, 1))
        assert not np.array_equal(first.splits[0].test, second.splits[0].test)

    def test_who_is_cross_validated(self, tiny: Graph, ring: Graph) -> None:
        assert needs_folds(tiny, [0])
        assert not needs_folds(ring, [0])
        order = np.random.default_rng(0).permutation(ring.labelled)
        two = Split(train=np.sort(order[:400]), val=np.sort(order[400:402]), test=np.sort(order[402:]))
        assert needs_folds(replace(ring, splits=(two,)), [0])

    def test_stages_grow(self, ring: Graph, tiny: Graph) -> None:
        for graph, numbers in ((ring, [0]), (ring, [0, 1]), (tiny, [0])):
            stages = stages_for(graph, numbers, 1000, 0)
            sizes = [(len(stage.arenas), stage.epochs) for stage in stages]
            assert sizes == sorted(sizes)

    def test_one_validation_node_is_no_error(self, ring: Graph) -> None:
        order = ring.labelled
        one = Split(train=order[:300], val=order[300:301], test=order[301:])
        graph = replace(ring, splits=(one,))
        arena = split_arena(graph, 0)
        assert arena.score(graph, np.full((1, 3), 1 / 3, dtype=np.float32)) in (0.0, 100.0)


class TestSelection:
    def rows(self, graph: Graph, rights: list[float]) -> tuple[Judge, list[Row]]:
        arena = split_arena(graph, 0)
        rng = np.random.default_rng(0)
        rows = [
            Row(number, "loss", f"m{number}", (noisy(graph, arena.nodes, right, rng),))
            for number, right in enumerate(rights)
        ]
        return Judge(graph, [arena]), rows

    def test_different_weak_ones_are_better_together(self, ring: Graph) -> None:
        judge, rows = self.rows(ring, [0.62, 0.61, 0.6, 0.6, 0.59, 0.3])
        chosen = select(judge, rows)
        assert len(chosen.members) > 1
        assert sum(count for _, count in chosen.members) <= MOST_MEMBERS
        assert chosen.gain == pytest.approx(judge.gain(chosen.blended()))
        assert chosen.gain >= chosen.single == max(judge.gain(row.predictions) for row in rows)

    def test_where_averaging_does_not_pay_the_best_stays_alone(self, ring: Graph) -> None:
        judge, rows = self.rows(ring, [0.99, 0.4, 0.35])
        chosen = select(judge, rows)
        assert [(row.number, count) for row, count in chosen.members] == [(0, 1)]

    def test_choosing_among_noise_is_not_believed(self, ring: Graph) -> None:
        """Sixty guessers: the best looks better than it is, and the crosswise score says so."""
        judge, rows = self.rows(ring, [1 / 3] * 60)
        chosen = select(judge, rows)
        assert chosen.crosswise < chosen.gain - 2
        assert abs(chosen.crosswise - 100 / 3) < 8
        expected = expect(ring, judge.arenas, [0], chosen, 0)
        assert expected.low < 100 / 3 < expected.high
        reach = expected.score - expected.low
        assert expected.high == pytest.approx(chosen.gain + reach)  # all judged nodes chose, not one half


class TestInterval:
    def test_it_contains_the_test_score_in_most_draws(self, ring: Graph) -> None:
        hits, draws = 0, 25
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            order = rng.permutation(ring.labelled)
            split = Split(train=np.sort(order[:300]), val=np.sort(order[300:450]), test=np.sort(order[450:600]))
            graph = replace(ring, splits=(split,))
            arena = split_arena(graph, 0)
            everywhere = [noisy(graph, np.arange(graph.num_nodes), 0.7, rng) for _ in range(10)]
            rows = [Row(i, "loss", f"m{i % 3}", (likely[split.val],)) for i, likely in enumerate(everywhere)]
            chosen = select(Judge(graph, [arena]), rows)
            likely = np.average([everywhere[row.number] for row, _ in chosen.members], axis=0,
                                weights=[count for _, count in chosen.members])  # fmt: skip
            test = 100 * float((likely[split.test].argmax(1) == graph.labels[split.test]).mean())
            expected = expect(graph, [arena], [0], chosen, 0)
            hits += expected.low <= test <= expected.high
        assert hits >= 0.8 * draws


class TestNeighbours:
    def test_one_or_two_settings_differ_and_nothing_is_tried_twice(self, ring: Graph) -> None:
        config = TrainConfig.of("multi-gpcn", lr=0.01)
        tried = {config.canonical()}
        for number in range(10):
            near = neighbour(ring, config, tried, np.random.default_rng(number))
            assert near is not None
            assert 1 <= len(config.differences(near)) <= 2
            assert near.canonical() not in tried
            tried.add(near.canonical())

    def test_directions_are_for_directed_graphs(self, ring: Graph) -> None:
        directed = synthesize(nodes=100, classes=2, splits=1, seed=1, directed=True)
        assert "direction" not in choices_for(ring, "gpcn")
        assert "in" in choices_for(directed, "gpcn")["direction"]


class TestPortfolio:
    def test_models_of_all_kinds_are_in_it(self) -> None:
        models = {entry.model for entry in default_portfolio()}
        assert {"logistic", "mlp", "trees", "link", "label-propagation", "gcn", "linkx"} <= models
        assert {*zoo.names("bank"), "gpcn", "gpcn-link", "agpcn", "agpcn-link", "deep-gcn", "deep-sage"} <= models

    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text(write_text(default_portfolio()))
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
    clock, other = Clock(ring), TrainConfig.of("gpcn")
    before = clock.seconds_per_epoch(other)
    clock.measured(TrainConfig.of("label-propagation"), 1, 5.0)
    assert clock.seconds_per_epoch(other) == before


def test_costs_are_learned(ring: Graph) -> None:
    clock = Clock(ring)
    config, other = TrainConfig.of("gpcn"), TrainConfig.of("gpcn", hidden=128)
    before = clock.seconds_per_epoch(other)
    clock.measured(config, 10, 100.0)
    assert clock.seconds_per_epoch(config) == 10.0
    assert clock.seconds_per_epoch(other) > before
