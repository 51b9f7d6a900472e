"""Kinds of matrices of one machine; `tests/distributed/test_halo.py` has that of several."""

from __future__ import annotations

import pytest
import torch

from gpcn.core.errors import ConfigError
from gpcn.nn import SparseOperator
from gpcn.nn.engine.edge_matrix import edge_operator
from gpcn.nn.engine.matrix import CsrMatrix
from tests.nn.matrix_battery import check_operator, whole_matrix


def of_edges(whole: torch.Tensor) -> SparseOperator:
    index = whole.nonzero().T
    return edge_operator(index, whole[index[0], index[1]], len(whole))


@pytest.mark.parametrize("make", [lambda whole: SparseOperator.from_torch(whole.to_sparse()), of_edges])
@pytest.mark.parametrize("symmetric", [False, True])
def test_every_kind_of_matrix_multiplies_as_the_dense_one(make, symmetric: bool) -> None:  # type: ignore[no-untyped-def]
    whole = whole_matrix()
    whole = whole + whole.T if symmetric else whole
    check_operator(make(whole), whole)


def test_entries_and_scipy_share_the_memory_of_a_csr_matrix() -> None:
    whole = whole_matrix()
    matrix = CsrMatrix(whole.to_sparse_csr())
    rows, columns, values = matrix.entries()
    assert torch.equal(whole[rows, columns], values)
    assert torch.equal(matrix.to_dense(), whole)
    shared = matrix.to_scipy()
    assert (shared.toarray() == whole.numpy()).all()
    assert shared.data.ctypes.data == values.data_ptr()


def test_only_matrices_make_an_operator_and_only_csr_ones_have_entries() -> None:
    whole = whole_matrix()
    with pytest.raises(ConfigError, match="a pair of matrices, not Tensor and Tensor; SparseOperator.from_torch"):
        SparseOperator(whole, whole.T)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="EdgeMatrix only multiplies"):
        of_edges(whole).to_dense()
