"""From the weights to `V`, `b` and `U` of `BankModel.polynomial_terms`, and back, without autograd.

They are a dozen small operations, and autograd's bookkeeping for them costs more than they do. `terms_rule` writes
both directions out for the models whose terms it knows (the family with one weight per operator, banks with free
terms) and leaves every other one to autograd.
"""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Tensor

from gpcn.nn.bank_model import BankModel, PolynomialTerms
from gpcn.nn.multi_gpcn import MultiGPCN
from gpcn.nn.polynomial_model import PolynomialModel
from gpcn.nn.training_step.family_terms import FamilyTerms


class TermsRule(Protocol):
    """One step of training: `forward`, then `backward` with the gradients of what it returned."""

    def forward(self) -> PolynomialTerms:
        """The terms, detached."""

    def backward(self, errors: PolynomialTerms) -> None:
        """Set the gradient of every weight that the terms are made from."""


def terms_rule(model: BankModel) -> TermsRule:
    """Return the written-out rule where the model's terms are those it was written for, autograd's otherwise."""
    if isinstance(model, PolynomialModel) and type(model).polynomial_terms is PolynomialModel.polynomial_terms:
        written_out = type(model)._terms is PolynomialModel._terms and model.dtype in (torch.float32, torch.float64)
        return FamilyTerms(model) if written_out else AutogradTerms(model)
    if isinstance(model, MultiGPCN) and type(model).polynomial_terms is MultiGPCN.polynomial_terms:
        return FreeTerms(model)
    return AutogradTerms(model)


class AutogradTerms:
    """Whatever `polynomial_terms` computes, by autograd."""

    def __init__(self, model: BankModel) -> None:
        self.model = model

    def forward(self) -> PolynomialTerms:
        """The terms, detached."""
        with torch.enable_grad():
            self.learned = self.model.polynomial_terms()
        bias = None if self.learned.bias is None else self.learned.bias.detach()
        return PolynomialTerms(self.learned.weight.detach(), bias, tuple(link.detach() for link in self.learned.links))

    def backward(self, errors: PolynomialTerms) -> None:
        """By autograd, from a sum of products: given tensors of gradients it would first import SymPy, for a second."""
        pairs = zip(_tensors(self.learned), _tensors(errors), strict=True)
        with torch.enable_grad():
            products = [(piece * error).sum() for piece, error in pairs]
            torch.stack(products).sum().backward()  # type: ignore[no-untyped-call]


class FreeTerms:
    """`V` and `b` as they are, `U_l = (1 - μ) W_A,l V_l`, `μ` fixed; in the same memory in every step."""

    def __init__(self, model: MultiGPCN) -> None:
        self.model, self.terms = model, model.terms
        self.weight = self.terms.weight.detach()
        self.bias = None if self.terms.bias is None else self.weight.new_zeros(self.weight.shape[:2])
        if model.link is None:
            return
        self.vectors, self.link_terms = model.link.detach().unbind(1), model.link_terms.detach()
        nodes, classes = len(model.link), self.weight.shape[1]
        self.weighted, self.weighted_link_terms = torch.empty_like(self.weight), torch.empty_like(self.link_terms)
        self.values_t = self.weight.new_empty(classes, nodes)
        self.values = tuple(self.weight.new_empty(nodes, classes) for _ in self.vectors)
        self.g_weight, self.g_link = torch.empty_like(self.weight), torch.zeros_like(model.link)
        self.g_link_terms = torch.zeros_like(model.link_terms)

    def forward(self) -> PolynomialTerms:
        """The terms, detached."""
        model = self.model
        if self.bias is not None:
            self.bias[0] = cast(Tensor, self.terms.bias).detach()
        if model.link is None:
            return PolynomialTerms(self.weight, self.bias)
        torch.mul(self.weight, model.mu, out=self.weighted)
        torch.mul(self.link_terms, 1 - model.mu, out=self.weighted_link_terms)
        for vectors, terms, values in zip(self.vectors, self.weighted_link_terms, self.values, strict=True):
            values.copy_(torch.mm(terms.T, vectors.T, out=self.values_t).T)  # transposed several times as fast
        return PolynomialTerms(self.weighted, self.bias, self.values)

    def backward(self, errors: PolynomialTerms) -> None:
        """Set the gradients of `V`, `b`, `W_A` and `V_l`."""
        model = self.model
        if self.terms.bias is not None:
            self.terms.bias.grad = cast(Tensor, errors.bias)[0]
        if model.link is None:
            self.terms.weight.grad = errors.weight
            return
        self.terms.weight.grad = torch.mul(errors.weight, model.mu, out=self.g_weight)
        for number, error in enumerate(errors.links):
            torch.mm(error, self.weighted_link_terms[number].T, out=self.g_link[:, number])
            torch.mul((error.T @ self.vectors[number]).T, 1 - model.mu, out=self.g_link_terms[number])
        model.link.grad, model.link_terms.grad = self.g_link, self.g_link_terms


def _tensors(terms: PolynomialTerms) -> list[Tensor]:
    return [piece for piece in (terms.weight, terms.bias, *terms.links) if piece is not None]
