"""One training pass of a model that is linear after `X_T`, forward and backward written out.

Autograd keeps a node for every operation; on graphs of a few thousand nodes that costs more than the arithmetic. Here
the large part (feature layers, one dense product, Horner's rule, the loss) is a list of kernels, and only the small
part, from the weights to `V`, `b` and `U` (`BankModel.pieces`), is left to autograd, so that every member of the family
and every bank has it. The gradients are those of `loss.backward()` to rounding, and random draws are the same.
"""

from __future__ import annotations

from typing import TypeGuard, cast

import torch
from torch import Tensor

from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.bank_model import BankModel, Pieces
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.dropout import relu_dropout_
from gpcn.nn.layers import Linear, drop_features
from gpcn.nn.operator import SparseOperator, multiply
from gpcn.nn.polynomial import bank_horner, bank_powers, transposed


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
        self.weights = (weights.to(model.dtype) / weights.sum()).unsqueeze(1)  # [n, 1]
        self.wanted = self.weights.new_zeros(len(labels), model.num_classes)  # [n, C]: its weight at a node's class
        self.wanted.scatter_(1, labels.unsqueeze(1), self.weights)
        self.error = self.weights.new_zeros(self.x.shape[0], model.num_classes)  # of the logits; zero but for `train`

    def __call__(self, drops: bool) -> tuple[Tensor, Tensor]:
        """Set every weight's gradient; the training loss, and all logits with nothing dropped."""
        learned = self.model.pieces()
        with torch.no_grad():
            bias = None if learned.bias is None else learned.bias.detach()
            pieces = Pieces(learned.terms.detach(), bias, tuple(link.detach() for link in learned.links))
            clean = self._logits(self._hidden(self.x, False)[-1], pieces) if drops else None
            x = drop_features(self.x, self.model.features.dropout, drops)
            hidden = self._hidden(x, drops)
            logits = self._logits(hidden[-1], pieces)
            loss = self._loss(logits)
            errors = self._backward(x, hidden, pieces, drops)
        torch.autograd.backward(_tensors(learned), _tensors(errors))
        return loss, logits if clean is None else clean

    def _hidden(self, x: Features, drops: bool) -> list[Tensor]:
        """The result of each feature layer, the last is `X_T`."""
        results: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            current = layer(results[-1] if results else x)
            results.append(relu_dropout_(current, self._dropout(number), drops))
        return results

    def _dropout(self, number: int) -> float:
        features = self.model.features
        return features.last_dropout if number == len(self.layers) - 1 else features.dropout

    def _logits(self, hidden: Tensor, pieces: Pieces) -> Tensor:
        powers, classes, _ = pieces.terms.shape
        flat = pieces.terms.flatten(0, 1).T
        product = hidden @ flat if pieces.bias is None else torch.addmm(pieces.bias.flatten(), hidden, flat)
        blocks = product.view(-1, powers, classes)
        for link, join in zip(pieces.links, self.joins, strict=True):
            if join is not None:
                blocks[:, self._first_power(join)] += link
        total = bank_horner(self.reading.operators, self.model.depths, blocks)
        for operator, link, join in zip(self.reading.links, pieces.links, self.joins, strict=True):
            if join is None:
                total += multiply(operator.matrix, link)
        return total

    def _first_power(self, operator: int) -> int:
        return 1 + sum(self.model.depths[:operator])

    def _loss(self, logits: Tensor) -> Tensor:
        """Cross entropy of the training nodes; leaves its gradient in `error`."""
        logarithms = torch.log_softmax(logits.index_select(0, self.train), dim=1)
        loss = -(logarithms * self.wanted).sum()
        self.error.index_copy_(0, self.train, logarithms.exp_().mul_(self.weights).sub_(self.wanted))
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
        error = flat @ pieces.terms.flatten(0, 1)
        for number in reversed(range(len(self.layers))):
            error = torch.ops.aten.threshold_backward(error, hidden[number], 0)
            dropped = self._dropout(number) if drops else 0.0
            if dropped:
                error.mul_(1 / (1 - dropped))
            before = hidden[number - 1] if number else x
            layer = self.layers[number]
            layer.weight.grad = (
                multiply(before.transposed, error) if isinstance(before, SparseOperator) else before.T @ error
            )
            if layer.bias is not None:
                layer.bias.grad = error.sum(0)
            if number:
                error = error @ layer.weight.T
        return Pieces(terms, bias, links)


def _tensors(pieces: Pieces) -> list[Tensor]:
    return [each for each in (pieces.terms, pieces.bias, *pieces.links) if each is not None]
