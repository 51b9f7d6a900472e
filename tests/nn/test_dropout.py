from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from gpcn.core.errors import ConfigError
from gpcn.nn.engine.dropout import (
    PIECE,
    RowDropout,
    SparseDropout,
    check_probability,
    dropout,
    dropout_sparse,
    relu_dropout_,
)
from gpcn.nn.engine.operator import SparseOperator
from tests.nn.test_operator import random


@pytest.mark.parametrize("p", [0.1, 0.3, 0.6, 0.9])
def test_the_share_and_the_mean_are_right(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1001, 777)
    dropped = dropout(x, p, training=True)
    count = x.numel()
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=5 * (p * (1 - p) / count) ** 0.5 + 1e-4)
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)
    torch.testing.assert_close(dropped.max().item(), 1 / (1 - p), rtol=1e-6, atol=0)


def test_neighbouring_entries_are_independent() -> None:
    torch.manual_seed(1)
    zero = (dropout(torch.ones(400_000), 0.3, True) == 0).float()
    for lag in (1, 2, 3, 4, 8):
        together = (zero[lag:] * zero[:-lag]).mean().item()
        assert together == pytest.approx(0.09, abs=0.003), lag


def test_the_seed_of_torch_decides() -> None:
    x = torch.randn(50, 33)
    torch.manual_seed(4)
    first = dropout(x, 0.5, True)
    torch.manual_seed(4)
    assert torch.equal(first, dropout(x, 0.5, True))
    assert not torch.equal(first, dropout(x, 0.5, True))


def test_relu_and_dropout_together_have_the_gradient_of_both() -> None:
    torch.manual_seed(2)
    x = torch.randn(300, 200, dtype=torch.float64, requires_grad=True)
    dropped = relu_dropout_(x.clone(), 0.4, True)
    passed = dropped.detach() != 0
    torch.testing.assert_close(dropped, F.relu(x) * passed / 0.6)
    weights = torch.randn_like(x)
    (gradient,) = torch.autograd.grad((dropped * weights).sum(), x)
    torch.testing.assert_close(gradient, weights * passed * (x > 0) / 0.6)


def test_nothing_happens_without_training_or_probability() -> None:
    x = torch.randn(5, 5)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    torch.testing.assert_close(relu_dropout_(x.clone(), 0.5, training=False), F.relu(x))
    operator = random()
    assert dropout_sparse(operator, 0.5, training=False) is operator


def test_sparse_dropout_is_the_same_in_matrix_and_transpose() -> None:
    torch.manual_seed(0)
    operator = random(60, 50)
    dropped = dropout_sparse(operator, 0.5, training=True)
    torch.testing.assert_close(dropped.matrix.to_dense().T, dropped.transposed.to_dense())
    kept = dropped.matrix.values != 0
    torch.testing.assert_close(dropped.matrix.values[kept], 2 * operator.matrix.values[kept])
    assert 0.3 < kept.double().mean() < 0.7


def test_replicas_under_vmap_drop_differently() -> None:
    x = torch.ones(3, 40, 40)
    replicas = torch.func.vmap(lambda given: dropout(given, 0.5, True), randomness="different")(x)
    assert not torch.equal(replicas[0], replicas[1])


def test_replicas_drop_under_gradients_too() -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return relu_dropout_(x * 2, 0.5, True).sum()

    gradients = torch.func.vmap(torch.func.grad(loss), randomness="different")(torch.ones(3, 40, 40))
    assert not torch.equal(gradients[0], gradients[1])


def test_a_share_close_to_one_drops_nearly_all() -> None:
    assert (dropout(torch.ones(10_000), 0.9999999, True) == 0).float().mean() > 0.99


def test_a_probability_is_checked() -> None:
    with pytest.raises(ConfigError, match="dropout is 1.0"):
        check_probability(1.0)


def test_the_draws_of_a_seed_stay_what_they_are() -> None:
    """Committed results were trained with them."""
    torch.manual_seed(11)
    kept = dropout(torch.ones(PIECE + 6), 0.4, True) > 0
    assert kept[:12].int().tolist() == [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0]
    assert kept[-6:].int().tolist() == [1, 1, 1, 0, 0, 0]


def test_sparse_features_are_dropped_in_place_with_the_same_draws() -> None:
    operator = random(60, 50)
    again = SparseDropout(operator, 0.3)
    for seed in (1, 2):
        torch.manual_seed(seed)
        expected = dropout_sparse(operator, 0.3, training=True)
        torch.manual_seed(seed)
        dropped = again()
        assert torch.equal(dropped.matrix.values, expected.matrix.values)
        assert torch.equal(dropped.transposed.values, expected.transposed.values)


def test_infinite_entries_raise_no_warning() -> None:
    x = torch.full((40, 40), torch.inf)
    assert not torch.isfinite(relu_dropout_(x, 0.5, True)).all()


def test_short_floats_are_dropped_too() -> None:
    dropped = relu_dropout_(torch.ones(100, 100, dtype=torch.bfloat16), 0.5, True)
    assert 0.4 < (dropped == 0).float().mean() < 0.6


@pytest.mark.parametrize("shape", [(40, 7), (3, 50_001), (70_001, 3), (2600, 128)])
def test_some_rows_have_the_draws_that_all_rows_would_have(shape: tuple[int, int]) -> None:
    x = torch.rand(shape) + 0.5
    rows = torch.arange(1, shape[0], 3)
    torch.manual_seed(9)
    expected = dropout(x, 0.3, True)[rows]
    torch.manual_seed(9)
    torch.testing.assert_close(RowDropout(0.3, shape[1], rows, shape[0])(x[rows]), expected, rtol=1e-6, atol=0)


def test_some_rows_of_sparse_features_have_the_draws_that_all_would_have() -> None:
    operator = random(60, 50)
    entries = torch.arange(0, operator.nnz, 2)
    part = SparseOperator.from_torch(torch.ones(1, len(entries)).to_sparse_csr())
    torch.manual_seed(2)
    expected = dropout_sparse(operator, 0.3, True).matrix.values[entries] != 0
    torch.manual_seed(2)
    kept = SparseDropout(part, 0.3, entries, operator.nnz)().matrix.values != 0
    assert torch.equal(kept, expected)
