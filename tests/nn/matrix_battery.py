"""Checks that every kind of `Matrix` passes, and every operator made of two of its kind."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.nn import SparseOperator
from gpcn.nn.engine.matrix import Matrix

WIDTH = 3


def whole_matrix(nodes: int = 12) -> Tensor:
    """A directed matrix in float64, with empty rows and columns."""
    drawn = torch.Generator().manual_seed(0)
    entries = torch.rand(nodes, nodes, dtype=torch.float64, generator=drawn)
    entries[torch.rand(nodes, nodes, generator=drawn) < 0.7] = 0
    entries[3] = 0
    entries[:, 5] = 0
    return entries


def check_operator(operator: SparseOperator, whole: Tensor, rows: slice = slice(None)) -> None:
    """Hold the rows of `whole` that `operator` has, and both its matrices, against dense products."""
    check_matrix(operator.matrix, whole, rows)
    check_matrix(operator.transposed, whole.T, rows)
    assert operator.nnz == operator.matrix.nnz
    x = _dense(whole, 1).requires_grad_()
    given = x.detach()[rows].requires_grad_()
    weights = _dense(whole, 2)
    expected, product = whole @ x, operator @ given
    torch.testing.assert_close(product, expected[rows])
    (weights * expected**2).sum().backward()
    (weights[rows] * product**2).sum().backward()
    torch.testing.assert_close(given.grad, x.grad[rows])
    torch.testing.assert_close(operator.T @ given, (whole.T @ x)[rows])
    assert operator.T.T.matrix is operator.matrix


def check_matrix(matrix: Matrix, whole: Tensor, rows: slice) -> None:
    """Hold one matrix against the dense one, new, into memory that is there, and added."""
    expected, given = (whole @ _dense(whole, 1))[rows], _dense(whole, 1)[rows]
    count = len(expected)
    assert tuple(matrix.shape) == (count, count)
    assert matrix.dtype == torch.float64
    assert matrix.device == torch.device("cpu")
    assert matrix.nnz == int((whole[rows] != 0).sum())
    product = matrix.product(given)
    assert product.dtype == torch.float64
    torch.testing.assert_close(product, expected)
    out = torch.full((count, WIDTH), torch.nan, dtype=torch.float64)
    assert matrix.product(given, out) is out
    assert torch.equal(out, product)
    assert matrix.product(given, out, add=True) is out
    torch.testing.assert_close(out, 2 * expected)
    columns = given.T.contiguous().T  # columns of which lie in one piece
    torch.testing.assert_close(matrix.product(columns), expected)
    assert torch.equal(given, _dense(whole, 1)[rows])


def _dense(whole: Tensor, seed: int) -> Tensor:
    return torch.randn(len(whole), WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
