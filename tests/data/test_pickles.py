from __future__ import annotations

import collections
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import DataError
from gpcn.data.benchmarks import pickles


def test_containers_arrays_and_matrices_are_read() -> None:
    graph = collections.defaultdict(list, {0: [1, 2]})
    assert pickles.load_restricted_pickle(pickle.dumps(graph, protocol=2), "g") == graph
    array = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(pickles.load_restricted_pickle(pickle.dumps(array, protocol=4), "a"), array)
    matrix = sp.csr_matrix(np.eye(3))
    restored = pickles.load_restricted_pickle(pickle.dumps(matrix, protocol=4), "m")
    np.testing.assert_array_equal(restored.to_csr().toarray(), np.eye(3))


class RunsCommand:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.system, ("touch /tmp/gpcn-was-here",))


class CallsEval:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (eval, ("1/0",))


@pytest.mark.parametrize("hostile", [RunsCommand(), CallsEval(), collections.OrderedDict(), sp.coo_matrix(np.eye(2))])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_anything_else_is_refused_by_name(hostile: object, protocol: int) -> None:
    with pytest.raises(DataError, match=r"f: a pickle asks for .* not on the allow-list"):
        pickles.load_restricted_pickle(pickle.dumps([hostile], protocol=protocol), "f")
    assert not Path("/tmp/gpcn-was-here").exists()


def test_every_allowed_name_is_harmless() -> None:
    allowed = set(pickles.ALLOWED.values())
    harmless = {np.ndarray, np.dtype, collections.defaultdict, list, pickles.PickledMatrix}
    assert {target for target in allowed if isinstance(target, type)} == harmless


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps([1, 2])[:-2]])
def test_damaged_pickles_are_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="not a readable pickle"):
        pickles.load_restricted_pickle(content, "f")


def test_object_arrays_give_their_items() -> None:
    items = np.empty(2, dtype=object)
    items[:] = [{"train": [0]}, {"train": [1]}]
    stream = io.BytesIO()
    np.save(stream, items)
    assert pickles.load_object_array(stream.getvalue(), "s") == [{"train": [0]}, {"train": [1]}]
    plain = io.BytesIO()
    np.save(plain, np.arange(3))
    with pytest.raises(DataError, match="expected one Python object per split"):
        pickles.load_object_array(plain.getvalue(), "s")
