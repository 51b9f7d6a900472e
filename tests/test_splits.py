from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcn import ConfigError, DataError, Graph, random_splits, synthesize
from gpcn.types import ROLES
from tests.conftest import make_graph


@given(count=st.integers(1, 4), train=st.floats(0.1, 0.6), val=st.floats(0.1, 0.3), stratified=st.booleans())
def test_parts_cover_the_labelled_nodes_in_the_asked_shares(
    count: int, train: float, val: float, stratified: bool
) -> None:
    graph = random_splits(GRAPH, count=count, train=train, val=val, stratified=stratified)
    assert len(graph.splits) == count
    for split in graph.splits:
        together = np.sort(np.concatenate([getattr(split, role) for role in ROLES]))
        np.testing.assert_array_equal(together, graph.labelled)
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


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        random_splits(GRAPH, count=0)
    with pytest.raises(ConfigError, match="leave no test nodes"):
        random_splits(GRAPH, train=0.8, val=0.2)
    with pytest.raises(DataError, match="expected at least 3"):
        random_splits(make_graph(labels=np.array([0, 1, -1, -1, -1, -1]), splits=()))


GRAPH: Graph = synthesize(nodes=400, unlabelled=0.2, splits=0)
