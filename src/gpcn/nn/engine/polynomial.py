"""The engine: a polynomial of the adjacency, evaluated in the cheaper of two orders.

Everything after the feature layers is linear, so the order of multiplication is free:

    logits = Σ_k Ā^k P_k          P_k = X_T V_k + 1 b_k        V_k = c_k W^k W_out   (h × C)

*Collapsed*: all `P_k` in one dense product, then Horner's rule, `S_k = Ā S_{k+1} + P_k`: `L` sparse products at
width `C` and activations that do not grow with `L`. *Recursive*: layer by layer at width `h`, as the papers write it;
cheaper only where `C` is not small against `h`. Function and gradients are the same, to rounding.

A residual layer is `X + s Ā (X W + 1 bᵀ)`, so power `k ≥ 1` also carries `c_k 1 bᵀ W^{k-1}`: biases fit in too.

Nothing needs the operator to be one. For a bank `O_1..O_m`, each up to a power `L_o` of its own,

    logits = P_0 + Σ_o Σ_k O_o^k P_{o,k} + Σ_l O_l U_l

is one dense product for all `P`, then Horner's rule per operator at width `C`; the last sum is learned from links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import comb
from typing import Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.engine.autograd_function import Function
from gpcn.nn.engine.operator import SparseOperator

Order: TypeAlias = Literal["auto", "collapsed", "recursive"]
SPARSE_COST = 4.0  # a multiply-add of a sparse product in those of a dense one, measured on CPU


def binomial_coefficients(layers: int, gamma: float) -> Tensor:
    """`c_k = binom(L, k) γ^k`: what the recursion `X ← X + γ Ā X W` expands to."""
    with _finite(layers, gamma):
        return torch.tensor([comb(layers, k) * float(gamma) ** k for k in range(layers + 1)], dtype=torch.float64)


def printed_coefficients(layers: int, gamma: float) -> Tensor:
    """`c_0 = 1, c_k = L γ^k, c_L = γ^L`: as typeset in the paper; differs from the recursion from `L = 4` on."""
    with _finite(layers, gamma):
        inner = [layers * float(gamma) ** k for k in range(1, layers)]
        return torch.tensor([1.0, *inner, *([float(gamma) ** layers] if layers else [])], dtype=torch.float64)


@contextmanager
def _finite(layers: int, gamma: float) -> Iterator[None]:
    try:
        yield
    except OverflowError as error:
        raise ConfigError(
            f"gamma={gamma:g} with layers={layers} gives coefficients beyond all numbers; lower one of them"
        ) from error


def symmetric_coefficients(scales: Tensor) -> Tensor:
    """`c_k = e_k(s_1, ..., s_L)`, elementary symmetric polynomials: one scale per residual layer."""
    coefficients = [scales.new_ones(())]
    for scale in scales:
        shifted = [scale * value for value in coefficients]
        coefficients = [coefficients[0], *(a + b for a, b in zip(coefficients[1:], shifted, strict=False)), shifted[-1]]
    return torch.stack(coefficients)


def choose_order(nodes: int, entries: Sequence[int], hidden: int, classes: int, depths: Sequence[int]) -> Order:
    """The cheaper order, by counting multiply-adds; `entries` and `depths` of each operator."""
    layers = sum(depths)
    sparse = SPARSE_COST * sum(depth * count for depth, count in zip(depths, entries, strict=True))
    collapsed = nodes * hidden * (layers + 1) * classes + (sparse + layers * hidden**2) * classes
    recursive = (layers * nodes * hidden + sparse) * hidden + nodes * hidden * classes
    return "collapsed" if collapsed <= recursive else "recursive"


def powers_of_weight(weight: Tensor, out: Tensor, layers: int) -> Tensor:
    """`(W^k W_out)ᵀ` for `k = 0..L`, as `[L + 1, C, h]`; narrow matrices multiply several times faster transposed."""
    chain: Tensor = _PowerChain.apply(weight, out, layers)
    return chain


def shared_terms(
    coefficients: Tensor, weight: Tensor, out: Tensor, bias: Tensor | None, layers: int
) -> tuple[Tensor, Tensor | None]:
    """`Vᵀ` `[L + 1, C, h]` and, with a residual bias, `b` `[L + 1, C]`, for one weight shared by all layers."""
    chain = powers_of_weight(weight, out, layers)
    scale = coefficients.to(chain.dtype).unsqueeze(1)  # [L + 1, 1]
    terms = chain * scale.unsqueeze(2)
    if bias is None:
        return terms, None
    carried = chain @ bias  # [L + 1, C]: bᵀ W^k W_out
    return terms, torch.cat([torch.zeros_like(carried[:1]), carried[:-1] * scale[1:]])


def layered_terms(
    gamma: float, weights: Sequence[Tensor], out: Tensor, biases: Sequence[Tensor] | None
) -> tuple[Tensor, Tensor | None]:
    """The same for a weight (and bias) of its own per layer: backwards, `V ← V + γ A W_i V` in powers of `A`."""
    terms = out.T.unsqueeze(0)  # [1, C, h]
    shift = out.new_zeros(len(weights) + 1, out.shape[1]) if biases is not None else None
    for layer in reversed(range(len(weights))):
        if biases is not None and shift is not None:
            carried = gamma * (terms @ biases[layer])  # [powers, C]
            shift = shift + F.pad(carried, (0, 0, 1, len(shift) - 1 - len(carried)))
        pushed = gamma * F.linear(terms, weights[layer])
        empty = torch.zeros_like(terms[:1])
        terms = torch.cat([terms, empty]) + torch.cat([empty, pushed])
    return terms, shift


Operators: TypeAlias = tuple[SparseOperator, ...]


def collapsed_polynomial(
    operators: Operators,
    depths: Sequence[int],
    x: Tensor,
    terms: Tensor,
    bias: Tensor | None = None,
    links: Sequence[tuple[SparseOperator, Tensor]] = (),
) -> Tensor:
    """`P_0 + Σ_o Σ_k O_o^k P_{o,k} + Σ_l O_l U_l` with `P = x V + 1 b`.

    Args:
        operators: `O_1..O_m`.
        depths: the highest power of each, `L_o`.
        x: `X_T`, `[N, h]`.
        terms: `Vᵀ`, `[1 + Σ L_o, C, h]`: power 0, then powers `1..L_o` of each operator.
        bias: `b`, `[1 + Σ L_o, C]`.
        links: operator and `U` `[N, C]`; one of an operator of the bank joins its power 1 at no extra product.
    """
    powers, classes = terms.shape[0], terms.shape[1]
    product = F.linear(x, terms.flatten(0, 1), None if bias is None else bias.flatten())
    extra = []
    for operator, link in links:
        index = next((number for number, member in enumerate(operators) if member is operator), None)
        if index is None:
            extra.append(operator @ link)
        else:
            first = 1 + sum(depths[:index])
            product = product + F.pad(link, (first * classes, (powers - first - 1) * classes))
    total = bank_horner(operators, depths, product.view(-1, powers, classes))
    for part in extra:
        total = total + part
    return total


def bank_horner(operators: Operators, depths: Sequence[int], blocks: Tensor) -> Tensor:
    """`blocks[:, 0] + Σ_o Σ_k O_o^k blocks[:, (o, k)]` for `blocks` `[N, 1 + Σ L_o, C]`."""
    total: Tensor = _Horner.apply(blocks, operators, tuple(depths))
    return total


def bank_powers(operators: Operators, depths: Sequence[int], x: Tensor) -> Tensor:
    """`[x, O_1 x, ..., O_1^{L_1} x, O_2 x, ...]` as `[N, 1 + Σ L_o, C]`; the adjoint of `bank_horner`."""
    stack: Tensor = _Powers.apply(x, operators, tuple(depths))
    return stack


def transposed_operators(operators: Operators) -> Operators:
    """The transpose of each."""
    return tuple(operator.T for operator in operators)


def horner_(operators: Operators, depths: Sequence[int], power: Callable[[int], Tensor]) -> Tensor:
    """Horner's rule per operator without autograd; `power(k)` gives `[N, C]` of power `k`, to be overwritten."""
    total, start = power(0), 1
    for operator, depth in zip(operators, depths, strict=True):
        if depth == 0:
            continue
        partial = power(start + depth - 1)
        for k in range(start + depth - 2, start - 1, -1):
            partial = operator.matrix.product(partial, power(k), add=True)
        operator.matrix.product(partial, total, add=True)
        start += depth
    return total


def powers_(
    operators: Operators, depths: Sequence[int], x: Tensor, columns: Sequence[Tensor], turns: Sequence[Tensor]
) -> None:
    """`bank_powers` without autograd into `columns`, `[N, C]` of each power.

    `turns` are two more such matrices for the products, which want theirs in one piece.
    """
    columns[0].copy_(x)
    index = 0
    for operator, depth in zip(operators, depths, strict=True):
        current = x
        for _ in range(depth):
            index += 1
            current = operator.matrix.product(current, turns[index % 2])
            columns[index].copy_(current)


class _Horner(Function):
    """Keeps nothing for the backward pass: the gradient of block `(o, k)` is `(O_oᵀ)^k g`."""

    @staticmethod
    def forward(blocks: Tensor, operators: Operators, depths: tuple[int, ...]) -> Tensor:
        return horner_(operators, depths, lambda k: blocks[:, k].clone(memory_format=torch.contiguous_format))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.operators, ctx.depths = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return bank_powers(transposed_operators(ctx.operators), ctx.depths, grads[0]), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int, ...], blocks: Tensor, operators: Operators, depths: tuple[int, ...]
    ) -> tuple[Tensor, int]:
        blocks = blocks.movedim(in_dims[0], 2)  # [N, 1 + Σ L_o, replicas, C]
        total = bank_horner(operators, depths, blocks.flatten(2))
        return total.reshape(total.shape[0], *blocks.shape[2:]), 1


class _Powers(Function):
    """`x, O x, O² x, ...` of each operator; its gradient is Horner's rule with the transposes."""

    @staticmethod
    def forward(x: Tensor, operators: Operators, depths: tuple[int, ...]) -> Tensor:
        x = x.contiguous()
        stack = x.new_empty(x.shape[0], 1 + sum(depths), x.shape[1])
        powers_(operators, depths, x, stack.unbind(1), (torch.empty_like(x), torch.empty_like(x)))
        return stack

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.operators, ctx.depths = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return bank_horner(transposed_operators(ctx.operators), ctx.depths, grads[0]), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int, ...], x: Tensor, operators: Operators, depths: tuple[int, ...]
    ) -> tuple[Tensor, int]:
        x = x.movedim(in_dims[0], 1)  # [N, replicas, C]
        stack = bank_powers(operators, depths, x.flatten(1))
        return stack.reshape(x.shape[0], stack.shape[1], *x.shape[1:]), 2


def power_chain(weight: Tensor, out: Tensor, layers: int) -> Tensor:
    """`powers_of_weight` without autograd."""
    chain = [out.T.contiguous()]
    for _ in range(layers):
        chain.append(F.linear(chain[-1], weight))
    return torch.stack(chain)


def power_chain_gradients(weight: Tensor, chain: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of `W` and `W_out`, from that of their `power_chain`, `[L + 1, C, h]`."""
    total = given[-1]
    back = [total]  # gradients of (W^k W_out)ᵀ, from k = L down to 0
    for k in range(len(given) - 2, -1, -1):
        total = torch.addmm(given[k], total, weight)
        back.append(total)
    reached = torch.stack(back[:-1][::-1])  # k = 1..L
    return reached.flatten(0, 1).T @ chain[:-1].flatten(0, 1), total.T


class _PowerChain(Function):
    """`(W^k W_out)ᵀ` for all `k`; the gradient of `W` is one product instead of `L` accumulated ones."""

    generate_vmap_rule = True

    @staticmethod
    def forward(weight: Tensor, out: Tensor, layers: int) -> Tensor:
        return power_chain(weight, out, layers)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        weight, chain = ctx.saved_tensors
        (given,) = grads
        return *power_chain_gradients(weight, chain, given), None
