"""From the weights to `V`, `b` and `U` of `BankModel.pieces`, and back, without autograd.

`pieces` is a dozen small operations, and autograd's bookkeeping for them costs more than they do. `rule_for` writes
both directions out for the models whose `pieces` it knows (the family with one weight per operator, banks with free
terms) and leaves every other one to autograd.
"""

from __future__ import annotations

from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gpcn.nn.bank_model import BankModel, Pieces
from gpcn.nn.layers import Linear
from gpcn.nn.multi import MultiGPCN
from gpcn.nn.polynomial import power_chain, power_chain_gradients
from gpcn.nn.polynomial_model import PolynomialModel


class TermsRule(Protocol):
    """One step of training: `forward`, then `backward` with the gradients of what it returned."""

    def forward(self) -> Pieces:
        """The pieces, detached."""

    def backward(self, errors: Pieces) -> None:
        """Set the gradient of every weight that the pieces are made from."""


def rule_for(model: BankModel) -> TermsRule:
    """The written-out rule where the model's `pieces` are those it was written for, autograd's otherwise."""
    if isinstance(model, PolynomialModel) and type(model).pieces is PolynomialModel.pieces:
        return FamilyTerms(model) if type(model)._terms is PolynomialModel._terms else AutogradTerms(model)
    if isinstance(model, MultiGPCN) and type(model).pieces is MultiGPCN.pieces:
        return FreeTerms(model)
    return AutogradTerms(model)


class AutogradTerms:
    """Whatever `pieces` computes."""

    def __init__(self, model: BankModel) -> None:
        self.model = model

    def forward(self) -> Pieces:
        """The pieces, detached."""
        with torch.enable_grad():
            self.learned = self.model.pieces()
        bias = None if self.learned.bias is None else self.learned.bias.detach()
        return Pieces(self.learned.terms.detach(), bias, tuple(link.detach() for link in self.learned.links))

    def backward(self, errors: Pieces) -> None:
        """By autograd."""
        torch.autograd.backward(_tensors(self.learned), _tensors(errors))


class FreeTerms:
    """`V` and `b` as they are, `U_l = (1 - μ) W_A,l V_l`, `μ` fixed."""

    def __init__(self, model: MultiGPCN) -> None:
        self.model, self.terms = model, model.terms

    def forward(self) -> Pieces:
        """The pieces, detached."""
        model, weight = self.model, self.terms.weight.detach()
        bias = None if self.terms.bias is None else _first_row(self.terms.bias.detach(), len(weight))
        if model.link is None:
            return Pieces(weight, bias)
        pairs = zip(model.link.detach().unbind(1), model.link_terms.detach(), strict=True)
        links = tuple(_narrow_product(vectors, (1 - model.mu) * terms) for vectors, terms in pairs)
        return Pieces(model.mu * weight, bias, links)

    def backward(self, errors: Pieces) -> None:
        """Set the gradients of `V`, `b`, `W_A` and `V_l`."""
        model = self.model
        self.terms.weight.grad = errors.terms if model.link is None else model.mu * errors.terms
        if self.terms.bias is not None:
            self.terms.bias.grad = cast(Tensor, errors.bias)[0]
        if model.link is None:
            return
        model.link.grad, model.link_terms.grad = torch.empty_like(model.link), torch.empty_like(model.link_terms)
        for number, error in enumerate(errors.links):
            weighted = (1 - model.mu) * model.link_terms.detach()[number]
            torch.mm(error, weighted.T, out=model.link.grad[:, number])
            torch.mul((error.T @ model.link.detach()[:, number]).T, 1 - model.mu, out=model.link_terms.grad[number])


class FamilyTerms:
    """`V_k = μ c_k W^k W_out` per operator, its biases, and `U_l = (1 - μ) W_A,l W_out`.

    Coefficients that are not weights themselves (shares of the starting ones, scales) come and go through autograd, a
    handful of numbers.
    """

    def __init__(self, model: PolynomialModel) -> None:
        self.model, self.out = model, model.out
        self.residual = [cast(Linear, model._residual_of(number)) for number in range(len(model.bank))]
        self.starts = [1 + sum(model.depths[:number]) for number in range(len(model.bank))]
        constant = model.polynomial_coefficients()
        self.constant = None if constant.requires_grad else constant.detach().to(model.dtype)

    def forward(self) -> Pieces:
        """The pieces, detached; keeps what `backward` needs of them."""
        model = self.model
        with torch.enable_grad():
            self.coefficients = model.polynomial_coefficients() if self.constant is None else self.constant
            self.share = model.share()
        coefficients = self.coefficients.detach()
        out = self.out.weight.detach()
        self.chains = [
            power_chain(layer.weight.detach(), out, depth)
            for layer, depth in zip(self.residual, model.depths, strict=True)
        ]
        self.scales = [self._of_operator(coefficients, number).unsqueeze(1) for number in range(len(self.chains))]
        terms = [chain * scale.unsqueeze(2) for chain, scale in zip(self.chains, self.scales, strict=True)]
        self.terms = terms[0] if len(terms) == 1 else torch.cat([terms[0], *(more[1:] for more in terms[1:])])
        self.bias = self._residual_bias()
        if model.link is None:
            return Pieces(self.terms, self._with_last_bias(self.bias))
        share = self.share.detach() if isinstance(self.share, Tensor) else self.share
        bias = None if self.bias is None else self.bias * share
        links = tuple(_narrow_product(vectors.detach(), out * (1 - share)) for vectors in model._link_vectors())
        return Pieces(self.terms * share, self._with_last_bias(bias), links)

    def _of_operator(self, values: Tensor, number: int) -> Tensor:
        """Those of power 0 and of the powers of one operator, of `[1 + Σ L_o, ...]`."""
        if len(self.residual) == 1:
            return values
        start = self.starts[number]
        return torch.cat([values[:1], values[start : start + self.model.depths[number]]])

    def _residual_bias(self) -> Tensor | None:
        if self.residual[0].bias is None:
            return None
        parts = []
        self.carried = []
        for layer, chain, scale in zip(self.residual, self.chains, self.scales, strict=True):
            carried = chain @ cast(Tensor, layer.bias).detach()  # [L + 1, C]
            self.carried.append(carried)
            parts.append(carried[:-1] * scale[1:])
        return torch.cat([torch.zeros_like(self.carried[0][:1]), *parts])

    def _with_last_bias(self, bias: Tensor | None) -> Tensor | None:
        if self.out.bias is None:
            return bias
        last = self.out.bias.detach()
        if bias is None:
            return _first_row(last, len(self.terms))
        bias = bias.clone() if bias is self.bias else bias
        bias[0] += last
        return bias

    def backward(self, errors: Pieces) -> None:
        """Set the gradients of `W`, `W_out`, their biases, the coefficients, `W_A` and `μ`."""
        model, g_terms, g_bias = self.model, errors.terms, errors.bias
        if self.out.bias is not None:
            self.out.bias.grad = cast(Tensor, g_bias)[0].clone()
        g_out: Tensor | None = None
        if model.link is not None:
            share = self.share.detach() if isinstance(self.share, Tensor) else self.share
            g_out = self._links_backward(errors, share)
            g_terms = g_terms * share
            g_bias = None if g_bias is None else g_bias * share
        g_coefficients = torch.zeros_like(self.coefficients) if self.constant is None else None
        for number, layer in enumerate(self.residual):
            part = self._operator_backward(number, layer, g_terms, g_bias, g_coefficients)
            g_out = part if g_out is None else g_out + part
        self.out.weight.grad = cast(Tensor, g_out).contiguous()  # laid out as the weight is, which Adam relies on
        if g_coefficients is not None:
            if isinstance(self.coefficients, nn.Parameter):
                self.coefficients.grad = g_coefficients
            else:
                self.coefficients.backward(g_coefficients)  # type: ignore[no-untyped-call]

    def _operator_backward(
        self, number: int, layer: Linear, g_terms: Tensor, g_bias: Tensor | None, g_coefficients: Tensor | None
    ) -> Tensor:
        """Of the polynomial of one operator; its gradient of `W_out`."""
        chain, scale = self.chains[number], self.scales[number]
        start, depth = self.starts[number], self.model.depths[number]
        g_powers = self._of_operator(g_terms, number)
        if number:
            g_powers[0] = 0  # power 0 counts once
        g_chain = g_powers * scale.unsqueeze(2)
        g_scale = None if g_coefficients is None else (g_powers * chain).sum((1, 2))
        if layer.bias is not None:
            shifted = cast(Tensor, g_bias)[start : start + depth]  # of powers 1..L
            if g_scale is not None:
                g_scale[1:] += (shifted * self.carried[number][:-1]).sum(1)
            g_carried = torch.cat([shifted * scale[1:], torch.zeros_like(shifted[:1])])
            g_chain += g_carried.unsqueeze(2) * layer.bias.detach()
            layer.bias.grad = chain.flatten(0, 1).T @ g_carried.flatten()
        if g_coefficients is not None and g_scale is not None:
            g_coefficients[0] += g_scale[0]
            g_coefficients[start : start + depth] += g_scale[1:]
        layer.weight.grad, g_out = power_chain_gradients(layer.weight.detach(), chain, g_chain)
        return g_out

    def _links_backward(self, errors: Pieces, share: Tensor | float) -> Tensor:
        """Of the links and of `μ`; its gradient of `W_out`."""
        model, out = self.model, self.out.weight.detach()
        link = cast(nn.Parameter, model.link)
        several = link.dim() == 3
        link.grad = torch.empty_like(link) if several else None
        weighted = out * (1 - share)
        total = torch.zeros_like(out)
        for number, (vectors, error) in enumerate(zip(model._link_vectors(), errors.links, strict=True)):
            if several:
                torch.mm(error, weighted.T, out=cast(Tensor, link.grad)[:, number])
            else:
                link.grad = error @ weighted.T
            total += (error.T @ vectors.detach()).T
        if model.mu_logit is not None:
            g_share = (errors.terms * self.terms).sum() - (total * out).sum()
            if self.bias is not None:
                g_share = g_share + (cast(Tensor, errors.bias) * self.bias).sum()
            model.mu_logit.grad = torch.ops.aten.sigmoid_backward(g_share, cast(Tensor, self.share).detach())
        return total * (1 - share)


def _narrow_product(wide: Tensor, narrow: Tensor) -> Tensor:
    """`wide @ narrow` of `[N, h]` and `[h, C]`: lying down several times as fast where `C` is small."""
    return (narrow.T @ wide.T).T.contiguous()


def _first_row(row: Tensor, count: int) -> Tensor:
    """`row` above `count - 1` rows of zeros."""
    return F.pad(row.unsqueeze(0), (0, 0, 0, count - 1))


def _tensors(pieces: Pieces) -> list[Tensor]:
    return [piece for piece in (pieces.terms, pieces.bias, *pieces.links) if piece is not None]
