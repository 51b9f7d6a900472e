"""One training pass of a model that is linear after `X_T`, forward and backward written out.

Autograd keeps a node for every operation; on graphs of a few thousand nodes that costs more than the arithmetic. Here
feature layers, one dense product, Horner's rule and the loss are a list of kernels; from the weights to `V`, `b` and
`U` (`BankModel.pieces`) there is a rule per kind of model (`nn.direct_terms`), so that every member of the family and
every bank has it. The gradients are those of `loss.backward()` to rounding, and random draws are the same.
"""

from __future__ import annotations

from typing import TypeGuard, cast

import torch
from torch import Tensor

from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.bank_model import BankModel, Pieces
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.direct_terms import rule_for
from gpcn.nn.dropout import SparseDropout, relu_dropout_
from gpcn.nn.layers import Linear, drop_features
from gpcn.nn.operator import SparseOperator, multiply, multiply_add_
from gpcn.nn.polynomial import bank_powers, horner_, transposed


def covers(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> TypeGuard[BankModel]:
    """Whether `DirectPass` can stand for `model`: one block, collapsed, dropout up to `X_T` alone, on a CPU."""
    if not isinstance(model, BankModel) or getattr(model, "blocks", 1) > 1 or model.device.type != "cpu":
        return False
    if getattr(model, "dropout_mode", "collapsible") == "residual" and getattr(model, "dropout", 0.0) > 0:
        return False
    reading = model.read(adjacency, None, x.shape[0])
    width = cast(Linear, model.features.layers[-1]).weight.shape[1]
    return model.order_for(reading.operators, x.shape[0], width) == "collapsed"


class DirectPass:
    """Loss, gradients and logits of a model on one graph.

    Args:
        model: one that `covers` accepts.
        x: features, `[N, q]`.
        adjacency: links.
        train: numbers of the training nodes, `[n]`.
        labels: their classes, `[n]`.
        class_weights: of the loss, where classes count differently, `[C]`.
    """

    def __init__(
        self,
        model: BankModel,
        x: Features,
        adjacency: AdjacencyLike,
        train: Tensor,
        labels: Tensor,
        class_weights: Tensor | None = None,
    ) -> None:
        self.model, self.x, self.train = model, as_features(x), train
        self.reading = model.read(adjacency, None, self.x.shape[0])
        self.backwards = transposed(self.reading.operators)
        self.layers = [cast(Linear, layer) for layer in model.features.layers]
        numbers = {id(operator): number for number, operator in enumerate(self.reading.operators)}
        self.joins = [numbers.get(id(operator)) for operator in self.reading.links]
        weights = torch.ones(len(labels), dtype=model.dtype) if class_weights is None else class_weights[labels]
        self.weights = (weights.to(model.dtype) / weights.sum()).unsqueeze(0)  # [1, n]
        self.wanted = self.weights.new_zeros(model.num_classes, len(labels))  # [C, n]: its weight at a node's class
        self.wanted.scatter_(0, labels.unsqueeze(0), self.weights)
        self.terms = rule_for(model)
        self.sparse_dropout: SparseDropout | None = None
        self.error = self.weights.new_zeros(self.x.shape[0], model.num_classes)  # of the logits; zero but for `train`
        self.blocks = self.error.new_empty(1 + sum(model.depths), *self.error.shape)  # overwritten by each pass

    def __call__(self, drops: bool) -> tuple[Tensor, Tensor]:
        """Set every weight's gradient; the training loss, and all logits with nothing dropped."""
        with torch.no_grad():
            pieces = self.terms.forward()
            clean = self._logits(self._hidden(self.x, False)[-1], pieces) if drops else None
            x = self._dropped() if drops else self.x
            hidden = self._hidden(x, drops)
            logits = self._logits(hidden[-1], pieces)
            loss = self._loss(logits)
            self.terms.backward(self._backward(x, hidden, pieces, drops))
        return loss, logits if clean is None else clean

    def _dropped(self) -> Features:
        """The features with some entries zeroed; sparse ones in the same memory each time."""
        share = self.model.features.dropout
        if not isinstance(self.x, SparseOperator) or share == 0:
            return drop_features(self.x, share, True)
        if self.sparse_dropout is None or self.sparse_dropout.p != share:
            self.sparse_dropout = SparseDropout(self.x, share)
        return self.sparse_dropout()

    def _hidden(self, x: Features, drops: bool) -> list[Tensor]:
        """The result of each feature layer, the last is `X_T`."""
        results: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            weight, bias = layer.weight, layer.bias
            before = results[-1] if results else x
            if isinstance(before, SparseOperator):
                current = multiply(before.matrix, weight)
                if bias is not None:
                    current.add_(bias)
            else:
                current = before @ weight if bias is None else torch.addmm(bias, before, weight)
            results.append(relu_dropout_(current, self._dropout(number), drops))
        return results

    def _dropout(self, number: int) -> float:
        features = self.model.features
        return features.last_dropout if number == len(self.layers) - 1 else features.dropout

    def _scale(self, number: int, drops: bool) -> float:
        """By what dropout multiplied the entries of a layer's result that it left."""
        return 1 / (1 - self._dropout(number)) if drops else 1.0

    def _logits(self, hidden: Tensor, pieces: Pieces) -> Tensor:
        powers, classes, _ = pieces.terms.shape
        product = pieces.terms.flatten(0, 1) @ hidden.T  # [powers * C, N]: a few long rows multiply fastest
        lying, blocks = product.view(powers, classes, -1).transpose(1, 2), self.blocks  # [powers, N, C]
        if pieces.bias is None:
            blocks.copy_(lying)
        else:
            torch.add(lying, pieces.bias.unsqueeze(1), out=blocks)
        for link, join in zip(pieces.links, self.joins, strict=True):
            if join is not None:
                blocks[self._first_power(join)].add_(link)
        total = horner_(self.reading.operators, self.model.depths, lambda k: blocks[k] if k else blocks[0].clone())
        for operator, link, join in zip(self.reading.links, pieces.links, self.joins, strict=True):
            if join is None:
                multiply_add_(total, operator.matrix, link)
        return total

    @staticmethod
    def _scaled_product(first: Tensor, second: Tensor, scale: float) -> Tensor:
        """`scale * first @ second`, the smaller of the two scaled."""
        if scale == 1:
            return first @ second
        return first @ (second * scale) if second.numel() < first.numel() else (first * scale) @ second

    def _first_power(self, operator: int) -> int:
        return 1 + sum(self.model.depths[:operator])

    def _loss(self, logits: Tensor) -> Tensor:
        """Cross entropy of the training nodes; leaves its gradient in `error`."""
        chosen = logits.index_select(0, self.train).T.contiguous()  # [C, n]: over few classes, many nodes at a time
        logarithms = torch.log_softmax(chosen, dim=0)
        loss = -(logarithms * self.wanted).sum()
        error = logarithms.exp_().mul_(self.weights).sub_(self.wanted)
        self.error.index_copy_(0, self.train, error.T.contiguous())
        return loss

    def _backward(self, x: Features, hidden: list[Tensor], pieces: Pieces, drops: bool) -> Pieces:
        """Set the gradients of the feature layers; those of the pieces."""
        powers, classes, width = pieces.terms.shape
        stack = bank_powers(self.backwards, self.model.depths, self.error)  # [N, 1 + Σ L_o, C]
        flat = stack.view(-1, powers * classes)
        terms = (flat.T @ hidden[-1]).view(powers, classes, width)
        bias = None if pieces.bias is None else flat.sum(0).view(powers, classes)
        links = tuple(
            multiply(operator.transposed, self.error) if join is None else stack[:, self._first_power(join)]
            for operator, join in zip(self.reading.links, self.joins, strict=True)
        )
        error = self._scaled_product(flat, pieces.terms.flatten(0, 1), self._scale(len(self.layers) - 1, drops))
        for number in reversed(range(len(self.layers))):
            torch.ops.aten.threshold_backward.grad_input(error, hidden[number], 0, grad_input=error)
            before = hidden[number - 1] if number else x
            layer = self.layers[number]
            layer.weight.grad = (
                multiply(before.transposed, error) if isinstance(before, SparseOperator) else before.T @ error
            )
            if layer.bias is not None:
                layer.bias.grad = error.sum(0)
            if number:
                error = self._scaled_product(error, layer.weight.T, self._scale(number - 1, drops))
        return Pieces(terms, bias, links)
