from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gpcn import ConfigError, DataError, Graph, synthesize
from gpcn.nn import Adjacency, SparseOperator
from gpcn.nn.base import as_features
from gpcn.nn.engine.polynomial import bank_horner, bank_powers


def random(rows: int = 12, columns: int = 9, dtype: torch.dtype = torch.float64) -> SparseOperator:
    return SparseOperator.from_scipy(sp.random(rows, columns, density=0.3, random_state=0, format="csr"), dtype=dtype)


def test_products_and_their_gradients_to_second_order_are_the_dense_ones() -> None:
    operator = random()
    x = torch.randn(9, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(operator @ x, operator.to_dense() @ x)
    assert torch.autograd.gradcheck(lambda given: operator @ given, (x,))
    assert torch.autograd.gradgradcheck(lambda given: (operator @ given) ** 2, (x,))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_products_under_vmap_are_those_of_every_replica(dim: int) -> None:
    operator = random()
    batch = torch.randn(5, 9, 4, dtype=torch.float64).movedim(0, dim)
    products = torch.func.vmap(lambda given: operator @ given, in_dims=dim)(batch)
    torch.testing.assert_close(products, operator.to_dense() @ batch.movedim(dim, 0))


def test_gradients_under_vmap_are_those_of_every_replica() -> None:
    operator = random()
    batch = torch.randn(5, 9, 4, dtype=torch.float64)
    gradients = torch.func.vmap(torch.func.grad(lambda given: ((operator @ given) ** 2).sum()))(batch)
    dense = operator.to_dense()
    torch.testing.assert_close(gradients, 2 * dense.T @ (dense @ batch))


def test_horner_and_powers_are_adjoint_and_twice_differentiable() -> None:
    operator = SparseOperator.from_scipy(sp.random(8, 8, density=0.4, random_state=1), dtype=torch.float64)
    blocks = torch.randn(8, 4, 2, dtype=torch.float64, requires_grad=True)
    x = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    left = (bank_horner((operator,), (3,), blocks) * x).sum()
    right = (blocks * bank_powers((operator.T,), (3,), x)).sum()
    torch.testing.assert_close(left, right)
    assert torch.autograd.gradcheck(lambda b: bank_horner((operator,), (3,), b), (blocks,))
    assert torch.autograd.gradcheck(lambda v: bank_powers((operator,), (3,), v), (x,))
    assert torch.autograd.gradgradcheck(lambda b: bank_horner((operator,), (3,), b) ** 2, (blocks,))


def test_indices_are_32_bit_and_a_symmetric_matrix_is_stored_once() -> None:
    graph = synthesize(nodes=30, degree=4, splits=0)
    operator = Adjacency.of(graph).operator()
    assert operator.csr.columns.dtype == torch.int32
    assert operator.symmetric
    assert operator.T.matrix is operator.matrix
    assert not random().symmetric


def test_an_operator_moves_to_a_device_and_takes_a_dtype() -> None:
    operator = random(dtype=torch.float32)
    assert operator.to() is operator
    assert operator.to(dtype=torch.float64).dtype == torch.float64
    moved = operator.to("meta")
    assert moved.device.type == "meta"
    assert (moved @ torch.empty(9, 3, device="meta")).shape == (12, 3)


def test_other_values_reach_the_transpose() -> None:
    operator = random()
    values = torch.arange(1.0, operator.nnz + 1, dtype=torch.float64)
    changed = operator.with_values(values)
    torch.testing.assert_close(changed.matrix.to_dense().T, changed.transposed.to_dense())


def test_sizes_that_do_not_fit_are_named() -> None:
    with pytest.raises(DataError, match=r"shape \(12, 9\) cannot multiply a matrix with 8 rows"):
        random() @ torch.randn(8, 2, dtype=torch.float64)


DENSE = np.array([[0, 2, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=np.float64)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("normalization", ["symmetric", "row", "column", "none"])
def test_normalizations_follow_their_formulas(normalization: str, self_loops: bool, direction: str) -> None:
    matrix = {"out": DENSE, "in": DENSE.T, "both": np.maximum(DENSE, DENSE.T)}[direction]
    matrix = matrix + np.eye(4) if self_loops else matrix
    rows, columns = matrix.sum(1), matrix.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = {
            "symmetric": matrix / np.sqrt(rows)[:, None] / np.sqrt(rows)[None, :],
            "row": matrix / rows[:, None],
            "column": matrix / columns[None, :],
            "none": matrix,
        }[normalization]
    expected = np.where(np.isfinite(expected), expected, 0)
    links = Adjacency(sp.csr_array(DENSE))
    operator = links.operator(normalization, self_loops=self_loops, direction=direction, dtype=torch.float64)
    np.testing.assert_allclose(operator.to_dense().numpy(), expected)


def test_two_hops_are_exactly_two() -> None:
    path = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    two_hops = Adjacency(path).operator("none", self_loops=False, hops=2).to_dense().numpy()
    np.testing.assert_array_equal(two_hops, np.eye(5, k=2) + np.eye(5, k=-2))


def test_what_was_made_from_a_tensor_is_kept_while_it_lives_unchanged() -> None:
    ends = torch.tensor([[0, 1], [1, 2]])
    first = Adjacency.of(ends, num_nodes=3)
    assert Adjacency.of(ends, num_nodes=3) is first
    assert first.operator() is first.operator()
    assert Adjacency.of(ends, num_nodes=4) is not first
    ends[1, 1] = 0
    assert Adjacency.of(ends, num_nodes=3).matrix[1, 0] == 1
    from gpcn.nn.engine.adjacency import _adjacency_of_tensor

    gc.collect()  # what other tests left
    before = len(_adjacency_of_tensor)
    del ends
    gc.collect()
    assert len(_adjacency_of_tensor) == before - 1


def test_sparse_features_are_made_once() -> None:
    x = torch.eye(4).to_sparse_coo()
    assert as_features(x) is as_features(x)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="pass num_nodes"):
        Adjacency.of(torch.tensor([[0], [1]]))
    with pytest.raises(ConfigError, match="cannot make an adjacency from str"):
        Adjacency.of("texas")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="endpoint outside"):
        Adjacency.of(torch.tensor([[0], [9]]), num_nodes=3)
    with pytest.raises(ConfigError, match="normalization 'l2' is unknown"):
        Adjacency(sp.eye_array(3)).operator("l2")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="features are of type list"):
        as_features([1])


def test_entries_that_wait_for_a_gradient_are_refused() -> None:
    """They got none, without a word; without gradients there is nothing to miss."""
    ends, weights = torch.tensor([[0, 1], [1, 2]]), torch.ones(2, requires_grad=True)
    for refused in (
        lambda: Adjacency.of(ends, weights, 3),
        lambda: Adjacency.of(torch.eye(3).to_sparse().requires_grad_()),
        lambda: as_features(torch.eye(3).to_sparse().requires_grad_()),
    ):
        with pytest.raises(ConfigError, match=r"has requires_grad=True, but gradients flow to dense matrices only"):
            refused()
    with torch.no_grad():
        assert Adjacency.of(ends, weights, 3).matrix.nnz == 2
    with pytest.raises(ConfigError, match="edge_weight has requires_grad"):  # also where the links are remembered
        Adjacency.of(ends, weights, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_of_16_bits_are_read_and_products_of_them_refused(dtype: torch.dtype) -> None:
    ends, weights = torch.tensor([[0, 1], [1, 2]]), torch.tensor([0.7, 1.3], dtype=dtype)
    assert Adjacency.of(ends, weights, 3).matrix.data.tolist() == weights.double().tolist()
    assert Adjacency.of(torch.diag(weights).to_sparse()).matrix.diagonal().tolist() == weights.double().tolist()
    refused = f"a sparse matrix is wanted in {dtype}, of which the CPU makes no products; expected 32 or 64 bits"
    with pytest.raises(ConfigError, match=refused):
        Adjacency(sp.eye_array(3)).operator(dtype=dtype)
    with pytest.raises(ConfigError, match=refused):
        as_features(torch.eye(3, dtype=dtype).to_sparse())


def test_a_directed_graph_stays_directed() -> None:
    graph = Graph.from_edges([[0], [1]], num_nodes=2, features=np.ones((2, 1)), labels=np.array([0, 1]))
    dense = Adjacency.of(graph).operator().to_dense()
    assert dense[0, 1] > 0
    assert dense[1, 0] == 0
