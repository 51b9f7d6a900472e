from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcn import (
    ConfigError,
    DataError,
    Graph,
    Split,
    SplitPlan,
    folds,
    group_splits,
    random_splits,
    synthesize,
    time_split,
)
from gpcn.core.types import UNKNOWN
from gpcn.graph.split import SCORED
from gpcn.graph.splitting import hold_back
from gpcn.records.reading import decode, encode
from tests.graphs import make_graph


@given(count=st.integers(1, 4), train=st.floats(0.1, 0.6), val=st.floats(0.1, 0.3), stratified=st.booleans())
def test_parts_cover_the_labelled_nodes_in_the_asked_shares(
    count: int, train: float, val: float, stratified: bool
) -> None:
    graph = random_splits(GRAPH, count=count, train=train, val=val, stratified=stratified)
    assert len(graph.splits) == count
    for split in graph.splits:
        np.testing.assert_array_equal(everything(split), graph.labelled)
        assert abs(split.train.size - train * graph.labelled.size) <= 1
        assert abs(split.val.size - val * graph.labelled.size) <= 1


def test_stratified_parts_have_the_classes_in_proportion() -> None:
    graph = random_splits(GRAPH, count=3)
    whole = np.bincount(GRAPH.labels[GRAPH.labelled])
    for split in graph.splits:
        share = np.bincount(GRAPH.labels[split.train], minlength=4) / whole
        np.testing.assert_allclose(share, 0.5, atol=0.03)


def test_a_split_depends_on_its_number_and_seed_alone() -> None:
    few, many, other = (random_splits(GRAPH, count=n, seed=s).splits for n, s in ((2, 0), (5, 0), (2, 1)))
    assert all(a.equals(b) for a, b in zip(few, many, strict=False))
    assert not few[0].equals(few[1])
    assert not few[0].equals(other[0])


def test_splits_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        random_splits(GRAPH, count=0)
    with pytest.raises(ConfigError, match="leave no test nodes"):
        random_splits(GRAPH, train=0.8, val=0.2)
    with pytest.raises(DataError, match="expected at least 3"):
        random_splits(make_graph(labels=np.array([0, 1, -1, -1, -1, -1]), splits=()))


@given(count=st.integers(2, 7), val=st.floats(0.05, 0.6), seed=st.integers(0, 5))
def test_every_labelled_node_is_tested_in_exactly_one_fold(count: int, val: float, seed: int) -> None:
    graph = folds(GRAPH, count=count, val=val, seed=seed)
    assert len(graph.splits) == count
    tested = np.concatenate([split.test for split in graph.splits])
    np.testing.assert_array_equal(np.sort(tested), GRAPH.labelled)
    whole = np.bincount(GRAPH.labels[GRAPH.labelled])
    for split in graph.splits:
        np.testing.assert_array_equal(everything(split), GRAPH.labelled)
        rest = GRAPH.labelled.size - split.test.size
        assert abs(split.val.size - val * rest) <= 1
        np.testing.assert_allclose(np.bincount(GRAPH.labels[split.test], minlength=4), whole / count, atol=1)
        counted = np.bincount(GRAPH.labels[split.train], minlength=4)
        np.testing.assert_allclose(counted, whole * split.train.size / GRAPH.labelled.size, atol=3)


def test_folds_depend_on_their_seed() -> None:
    first, again, other = (folds(GRAPH, seed=seed).splits for seed in (0, 0, 1))
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    assert not first[0].equals(other[0])


def test_folds_that_cannot_be_are_refused() -> None:
    six = make_graph(splits=())
    assert len(folds(six, count=5, val=0.25).splits) == 5
    with pytest.raises(DataError, match="5 node.s. have a label; expected at least 6"):
        folds(six, count=6)
    with pytest.raises(ConfigError, match="at least 2"):
        folds(GRAPH, count=1)
    with pytest.raises(ConfigError, match="leave no nodes outside a fold"):
        folds(GRAPH, val=1.0)
    with pytest.raises(ConfigError, match="val=0.6 and calibration=0.5 leave no nodes"):
        folds(GRAPH, val=0.6, calibration=0.5)


PLANS = {
    "random": SplitPlan(count=2, train=0.5, val=0.2, calibration=0.2),
    "folds": SplitPlan(folds=4, val=0.2, calibration=0.2),
    "time": SplitPlan(by="day", train=0.5, val=0.2, calibration=0.2),
    "group": SplitPlan(group="team", train=0.5, val=0.2, calibration=0.2),
}


@pytest.mark.parametrize("way", PLANS)
def test_a_share_calibrates_and_a_share_of_nothing_changes_no_draw(way: str) -> None:
    plan, numbers = PLANS[way], np.arange(GRAPH.num_nodes)
    columns = {"times": numbers % 50} if way == "time" else {"groups": numbers % 60} if way == "group" else {}
    for split in plan.make(GRAPH, **columns).splits:
        np.testing.assert_array_equal(everything(split), GRAPH.labelled)
        of = GRAPH.labelled.size - (split.test.size if way == "folds" else 0)
        assert abs(split.calibration.size - 0.2 * of) < 0.05 * of
        assert abs(split.val.size - 0.2 * of) < 0.05 * of
    if way == "time":
        assert columns["times"][split.val].max() < columns["times"][split.calibration].min()
        assert columns["times"][split.calibration].max() < columns["times"][split.test].min()
    if way == "group":
        in_parts = [set(columns["groups"][nodes]) for nodes in split.parts().values()]
        assert len(set.union(*in_parts)) == sum(map(len, in_parts))
    without = replace(plan, calibration=0.0)
    assert all(not split.calibration.size for split in without.make(GRAPH, **columns).splits)


def test_nodes_held_back_validate_and_all_others_train() -> None:
    split = hold_back(GRAPH.labels, 0.25, seed=3)
    np.testing.assert_array_equal(everything(split), GRAPH.labelled)
    assert split.val.size == round(0.25 * GRAPH.labelled.size)
    assert not split.test.size
    assert not hold_back(GRAPH.labels, 0.25, seed=4).equals(split)
    with pytest.raises(DataError, match="expected at least 2"):
        hold_back(np.array([0, -1]), 0.5)


@given(
    times=st.lists(st.one_of(st.integers(0, 12).map(float), st.just(float("nan"))), min_size=20, max_size=60),
    train=st.floats(0.1, 0.7),
    val=st.floats(0.1, 0.25),
)
def test_times_are_in_order_and_equal_ones_stay_together(times: list[float], train: float, val: float) -> None:
    moments = np.array(times)
    labels = np.where(np.arange(moments.size) % 7 == 0, UNKNOWN, np.arange(moments.size) % 3)
    usable = (labels != UNKNOWN) & ~np.isnan(moments)
    distinct = np.unique(moments[usable])
    if distinct.size < 3:
        with pytest.raises(DataError, match=f"have {distinct.size} different"):
            time_split(labels, moments, train=train, val=val)
        return
    split = time_split(labels, moments, train=train, val=val)
    np.testing.assert_array_equal(everything(split), np.flatnonzero(usable))
    assert moments[split.train].max() < moments[split.val].min()
    assert moments[split.val].max() < moments[split.test].min()
    largest = max(np.count_nonzero(moments[usable] == moment) for moment in distinct)
    if distinct.size > 8:
        assert abs(split.train.size - train * usable.sum()) <= max(largest, 0.2 * usable.sum())


def test_different_times_meet_the_shares() -> None:
    moments = np.random.default_rng(0).permutation(100).astype(np.float64)
    split = time_split(np.zeros(100, dtype=np.int64), moments)
    assert [getattr(split, role).size for role in SCORED] == [60, 20, 20]
    assert set(moments[split.train]) == set(range(60))


def test_a_split_by_too_few_times_says_how_many_are_needed() -> None:
    labels = np.zeros(6, dtype=np.int64)
    with pytest.raises(DataError, match="have 2 different one.s.; expected at least 3 to split into train, val and"):
        time_split(labels, [1, 1, 1, 2, 2, 2])
    with pytest.raises(DataError, match="expected at least 4 to split into train, val, test and calibration by time"):
        time_split(labels, [1, 1, 1, 2, 2, 3], calibration=0.1)
    with pytest.raises(DataError, match="one per node"):
        time_split(labels, np.ones(5))


@given(sizes=st.lists(st.integers(1, 12), min_size=3, max_size=40), seed=st.integers(0, 4), alone=st.integers(0, 9))
def test_groups_are_never_in_two_parts(sizes: list[int], seed: int, alone: int) -> None:
    groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)] + [""] * alone
    labels = np.random.default_rng(seed).integers(-1, 3, size=len(groups))
    labels[np.cumsum(sizes) - 1] = 0  # every group has a labelled node
    for split in group_splits(labels, groups, count=3, train=0.5, val=0.2, seed=seed):
        np.testing.assert_array_equal(everything(split), np.flatnonzero(labels != UNKNOWN))
        members = [{groups[node] for node in getattr(split, role)} - {""} for role in SCORED]
        assert not (members[0] & members[1] or members[0] & members[2] or members[1] & members[2])


def test_groups_meet_the_shares_as_they_can_and_depend_on_number_and_seed() -> None:
    groups = np.array([f"household {number // 4}" for number in range(400)])
    few, many, other = (group_splits(GRAPH, groups, count=n, seed=s) for n, s in ((2, 0), (4, 0), (2, 1)))
    assert all(a.equals(b) for a, b in zip(few, many, strict=False))
    assert not few[0].equals(few[1])
    assert not few[0].equals(other[0])
    for split in many:
        assert abs(split.train.size / GRAPH.labelled.size - 0.5) < 0.02
        assert abs(split.val.size / GRAPH.labelled.size - 0.25) < 0.02
        share = np.bincount(GRAPH.labels[split.train], minlength=4) / np.bincount(GRAPH.labels[GRAPH.labelled])
        np.testing.assert_allclose(share, 0.5, atol=0.12)
    with pytest.raises(DataError, match="in 2 group.s.; expected at least 3"):
        group_splits(GRAPH, ["a", "b"] * 200)
    with pytest.raises(DataError, match="one per node"):
        group_splits(GRAPH, ["a", "b"])


def test_a_plan_makes_what_it_says_and_survives_json() -> None:
    for plan, splits in (
        (SplitPlan(count=3, train=0.6, val=0.2, seed=1), random_splits(GRAPH, count=3, train=0.6, val=0.2, seed=1)),
        (SplitPlan(folds=4, val=0.3), folds(GRAPH, count=4, val=0.3)),
    ):
        assert plan.make(GRAPH).equals(splits)
        assert plan.make(GRAPH).notes == GRAPH.notes
        assert decode(encode(plan), SplitPlan) == plan
    assert decode({"count": 2, "seed": 3}, SplitPlan) == SplitPlan(count=2, seed=3)


def test_a_plan_notes_what_it_decided() -> None:
    times = np.arange(400) // 100 * 1.0
    times[GRAPH.labelled[:3]] = np.nan
    graph = SplitPlan(by="opened", train=0.6, val=0.2).make(GRAPH, times=times)
    assert graph.notes[0] == "3 labelled node(s) have no time in 'opened' and are in no part of the split"
    assert "nodes of equal 'opened' stay together, so split 0 has" in graph.notes[1]
    assert len(graph.splits) == 1
    groups = [""] * 10 + ["big"] * 350 + ["small"] * 20 + ["tiny"] * 20
    graph = SplitPlan(group="city").make(GRAPH, groups=groups)
    assert len(graph.splits) == 5
    assert "have no 'city'; each is a group of its own" in graph.notes[0]
    assert "not 50/25/25 %" in graph.notes[1]
    rare = make_graph(labels=np.array([0, 0, 0, 0, 1, -1]), splits=())
    assert "the first is '1' with 1" in SplitPlan(folds=3).make(rare).notes[0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "no way to split"),
        ({"count": 2, "folds": 3}, "count .gpcn.random_splits. and by folds"),
        ({"by": "a", "group": "b"}, "by .by. and by group"),
        ({"by": "a", "count": 2}, "expected one of them"),
        ({"folds": 5, "group": "b"}, "expected one of them"),
        ({"folds": 1}, "at least 2"),
        ({"folds": 5, "train": 0.6}, "no meaning with folds"),
        ({"folds": 5, "val": 1.0}, "leave no nodes outside a fold"),
        ({"count": 2, "train": 0.8, "val": 0.2}, "leave no test nodes"),
        ({"count": -1}, "0 or more"),
        ({"count": 1, "seed": -1}, "0 or more"),
        ({"count": "x"}, "count is 'x'; expected a whole number"),
        ({"count": True}, "count is True; expected a whole number"),
        ({"count": 1, "val": "a"}, "val is 'a'; expected a number"),
        ({"by": 3}, "by is 3; expected text"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        decode(settings, SplitPlan)


def test_a_plan_by_a_column_needs_its_values() -> None:
    with pytest.raises(ConfigError, match="needs the times"):
        SplitPlan(by="opened").make(GRAPH)
    with pytest.raises(ConfigError, match="needs the groups"):
        SplitPlan(group="city").make(GRAPH)


def everything(split: Split) -> np.ndarray:
    return np.sort(np.concatenate(list(split.parts().values())))


GRAPH: Graph = synthesize(nodes=400, unlabelled=0.2, splits=0)
