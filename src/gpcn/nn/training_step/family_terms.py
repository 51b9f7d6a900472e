"""`V_k = μ c_k W^k W_out` and its gradients for the paper's family, written out, in memory that every step uses again.

Only the products with `W` are work; the rest are dozens of operations on a few thousand numbers, where a call of
PyTorch costs more than its arithmetic. Those are NumPy's, whose calls are cheaper, on the same memory.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gpcn.nn.bank_model import PolynomialTerms
from gpcn.nn.layers import Linear
from gpcn.nn.polynomial_model import PolynomialModel

Array = NDArray[Any]


class FamilyTerms:
    """`V_k = μ c_k W^k W_out` per operator, its biases, and `U_l = (1 - μ) W_A,l W_out`.

    What `forward` returns and the gradients that `backward` sets are the same memory in every step. Coefficients that
    are not weights themselves (shares of the starting ones, scales) come and go through autograd, a handful of numbers.
    """

    def __init__(self, model: PolynomialModel) -> None:
        self.model, self.out = model, model.out
        hidden, classes = self.out.weight.shape
        self.biased = self.out.bias is not None
        self.terms = model.out.weight.new_zeros(1 + sum(model.depths), classes, hidden, requires_grad=False)
        self.weighted = self.terms if model.link is None else torch.zeros_like(self.terms)
        self.bias = self.terms.new_zeros(self.terms.shape[:2])  # of the residual layers, without `μ`; none at power 0
        self.weighted_bias = torch.zeros_like(self.bias)
        self.g_terms, self.g_bias = torch.zeros_like(self.terms), torch.zeros_like(self.bias)
        starts = [1 + sum(model.depths[:number]) for number in range(len(model.bank))]
        self.powers = [
            _Powers(cast(Linear, model._residual_of(number)), model.out, start, depth)
            for number, (start, depth) in enumerate(zip(starts, model.depths, strict=True))
        ]
        self.links = None if model.link is None else _Links(model)
        constant = model.polynomial_coefficients()
        self.constant = None if constant.requires_grad else constant.detach().to(model.dtype).numpy()
        self.gradients = {parameter: torch.zeros_like(parameter) for parameter in self._weights_at_the_end()}

    def _weights_at_the_end(self) -> list[nn.Parameter]:
        return [parameter for parameter in (self.out.weight, self.out.bias) if parameter is not None]

    def forward(self) -> PolynomialTerms:
        """The terms, detached; keeps what `backward` needs of them."""
        coefficients = self._coefficients()
        for powers in self.powers:
            powers.forward(coefficients, self.terms.numpy(), self.bias.numpy())
        share = 1.0 if self.links is None else self.links.read_share()
        if self.links is not None:
            np.multiply(self.terms.numpy(), share, out=self.weighted.numpy())
        if self.biased:
            bias = self.weighted_bias.numpy()
            np.multiply(self.bias.numpy(), share, out=bias)
            bias[0] = cast(Tensor, self.out.bias).detach().numpy()
        links = () if self.links is None else self.links.forward()
        return PolynomialTerms(self.weighted, self.weighted_bias if self.biased else None, links)

    def _coefficients(self) -> Array:
        if self.constant is not None:
            return self.constant
        with torch.enable_grad():
            self.coefficients = self.model.polynomial_coefficients()
        return self.coefficients.detach().numpy()

    def backward(self, errors: PolynomialTerms) -> None:
        """Set the gradients of `W`, `W_out`, their biases, the coefficients, `W_A` and `μ`."""
        g_terms, g_bias = errors.weight.numpy(), None if errors.bias is None else errors.bias.numpy()
        total = np.zeros(self.terms.shape[1:], dtype=g_terms.dtype)  # the gradient of W_out, transposed
        if g_bias is not None and self.biased:
            self._set(cast(nn.Parameter, self.out.bias), g_bias[0])
        if self.links is not None:
            inner = torch.dot(errors.weight.view(-1), self.terms.view(-1)).item()
            if g_bias is not None:
                inner += float(np.vdot(g_bias, self.bias.numpy()))
            total += self.links.backward(errors.links, inner)
            share = self.links.share
            g_terms = np.multiply(g_terms, share, out=self.g_terms.numpy())
            g_bias = None if g_bias is None else np.multiply(g_bias, share, out=self.g_bias.numpy())
        g_coefficients = None if self.constant is not None else np.zeros(len(self.terms), dtype=g_terms.dtype)
        for powers in self.powers:
            total += powers.backward(g_terms, g_bias, g_coefficients)
        self._set(self.out.weight, total.T)
        if g_coefficients is None:
            return
        gradient = torch.from_numpy(g_coefficients)
        if isinstance(self.coefficients, nn.Parameter):
            self.coefficients.grad = gradient
        else:
            with torch.enable_grad():
                (self.coefficients * gradient).sum().backward()  # type: ignore[no-untyped-call]

    def _set(self, parameter: nn.Parameter, gradient: Array) -> None:
        kept = self.gradients[parameter]
        kept.numpy()[...] = gradient
        parameter.grad = kept


class _Powers:
    """`c_k W^k W_out` and `c_k b W^{k-1} W_out` for the powers of one operator.

    Args:
        layer: `W` and perhaps `b`.
        out: `W_out`.
        start: where power 1 of the operator stands among all terms.
        depth: its highest power, `L`.
    """

    def __init__(self, layer: Linear, out: Linear, start: int, depth: int) -> None:
        self.first, self.rows = start == 1, slice(start, start + depth)
        self.out = out.weight.detach().numpy().T  # [C, h]
        self.weight = layer.weight.detach()
        chain = torch.empty(depth + 1, *self.out.shape, dtype=self.weight.dtype)  # (W^k W_out)ᵀ
        self.chain, self.links, self.turned = chain.numpy(), chain.unbind(0), self.weight.T
        self.below = chain[:-1].flatten(0, 1)  # k = 0..L-1
        self.g_chain = torch.empty_like(chain)
        self.g_links, self.g_above = self.g_chain.unbind(0), self.g_chain[1:].flatten(0, 1).T
        self.g_below = self.g_chain[:-1].flatten(0, 1)
        self.layer, self.g_weight = layer, torch.zeros_like(self.weight)
        if layer.bias is not None:
            self.bias, self.g_layer_bias = layer.bias.detach(), torch.zeros_like(layer.bias)
            self.carried = torch.empty(depth * len(self.out), dtype=self.weight.dtype)  # bᵀ W^k W_out, k = 0..L-1
            self.g_carried = torch.empty_like(self.carried)

    def forward(self, coefficients: Array, terms: Array, biases: Array) -> None:
        """Write the rows of this operator into `terms` `[1 + Σ L_o, C, h]` and `biases` `[1 + Σ L_o, C]`."""
        self.chain[0] = self.out
        for before, current in zip(self.links[:-1], self.links[1:], strict=True):
            torch.mm(before, self.turned, out=current)
        self.scale = coefficients[self.rows, None]  # [L, 1]
        self.scale_of_zero = coefficients[0]
        if self.first:
            np.multiply(self.chain[0], self.scale_of_zero, out=terms[0])
        np.multiply(self.chain[1:], self.scale[:, :, None], out=terms[self.rows])
        if self.layer.bias is not None:
            torch.mv(self.below, self.bias, out=self.carried)
            np.multiply(self.carried.numpy().reshape(len(self.scale), -1), self.scale, out=biases[self.rows])

    def backward(self, g_terms: Array, g_bias: Array | None, g_coefficients: Array | None) -> Array:
        """Set the gradients of `W` and `b`, add those of the coefficients; return that of `W_out`, transposed."""
        g_rows, g_chain = g_terms[self.rows], self.g_chain.numpy()
        np.multiply(g_rows, self.scale[:, :, None], out=g_chain[1:])
        if self.first:  # power 0 counts once
            np.multiply(g_terms[0], self.scale_of_zero, out=g_chain[0])
        else:
            g_chain[0] = 0
        if g_coefficients is not None:
            g_coefficients[self.rows] = np.einsum("kch,kch->k", g_rows, self.chain[1:])
            if self.first:
                g_coefficients[0] = np.einsum("ch,ch->", g_terms[0], self.chain[0])
        if self.layer.bias is not None:
            self._bias_backward(cast(Array, g_bias)[self.rows], g_coefficients)
        for k in range(len(self.g_links) - 2, -1, -1):
            torch.addmm(self.g_links[k], self.g_links[k + 1], self.weight, out=self.g_links[k])
        self.layer.weight.grad = torch.mm(self.g_above, self.below, out=self.g_weight)
        return cast(Array, g_chain[0])

    def _bias_backward(self, g_rows: Array, g_coefficients: Array | None) -> None:
        if g_coefficients is not None:
            g_coefficients[self.rows] += np.einsum("kc,kc->k", g_rows, self.carried.numpy().reshape(g_rows.shape))
        np.multiply(g_rows, self.scale, out=self.g_carried.numpy().reshape(g_rows.shape))
        self.g_below.addr_(self.g_carried, self.bias)
        cast(nn.Parameter, self.layer.bias).grad = torch.mv(self.below.T, self.g_carried, out=self.g_layer_bias)


class _Links:
    """`U_l = (1 - μ) W_A,l W_out`."""

    def __init__(self, model: PolynomialModel) -> None:
        self.model, self.link = model, cast(nn.Parameter, model.link)
        self.vectors = [vectors.detach() for vectors in model._link_vectors()]
        self.out = model.out.weight.detach()
        nodes, (hidden, classes) = len(self.link), self.out.shape
        self.weighted = torch.empty_like(self.out)  # (1 - μ) W_out
        self.values_t = self.out.new_empty(classes, nodes)
        self.values = tuple(self.out.new_empty(nodes, classes) for _ in self.vectors)
        self.gradient = torch.zeros_like(self.link)
        self.g_vectors = self.gradient.unbind(1) if self.link.dim() == 3 else (self.gradient,)
        self.g_out = self.out.new_empty(classes, hidden)
        self.g_share = None if model.mu_logit is None else torch.zeros_like(model.mu_logit)

    def read_share(self) -> float:
        """`μ` as it is now."""
        self.share = float(torch.as_tensor(self.model.share()))
        return self.share

    def forward(self) -> tuple[Tensor, ...]:
        """`U_l` `[N, C]` of every operator of the link term."""
        np.multiply(self.out.numpy(), 1 - self.share, out=self.weighted.numpy())
        for vectors, values in zip(self.vectors, self.values, strict=True):
            values.copy_(torch.mm(self.weighted.T, vectors.T, out=self.values_t).T)  # transposed several times as fast
        return self.values

    def backward(self, errors: tuple[Tensor, ...], inner: float) -> Array:
        """Set the gradients of `W_A` and `μ`; return that of `W_out`, transposed.

        Args:
            errors: of every `U_l`.
            inner: those of the polynomial's terms and biases times these, summed, without `μ`.
        """
        total = np.zeros(self.g_out.shape, dtype=self.g_out.numpy().dtype)
        for vectors, gradient, error in zip(self.vectors, self.g_vectors, errors, strict=True):
            torch.mm(error, self.weighted.T, out=gradient)
            total += torch.mm(error.T, vectors, out=self.g_out).numpy()
        self.link.grad = self.gradient
        if self.model.mu_logit is not None and self.g_share is not None:
            difference = inner - float(np.einsum("ch,hc->", total, self.out.numpy()))
            self.model.mu_logit.grad = self.g_share.fill_(difference * self.share * (1 - self.share))
        total *= 1 - self.share
        return total
