"""One training pass of a model that is linear after `X_T`, forward and backward written out.

Autograd keeps a node for every operation; on graphs of a few thousand nodes that costs more than the arithmetic. Here
feature layers, one dense product, Horner's rule and the loss are a list of kernels; from the weights to `V`, `b` and
`U` (`BankModel.pieces`) there is a rule per kind of model (`nn.direct_terms`), so that every member of the family and
every bank has it. Rows that neither the loss nor the nodes to be judged depend on are left out (`nn.region`). The
gradients are those of `loss.backward()` to rounding, and random draws are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard, cast

import torch
from torch import Tensor

from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.bank_model import BankModel, Pieces
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.direct_terms import rule_for
from gpcn.nn.dropout import RowDropout, SparseDropout
from gpcn.nn.layers import Linear
from gpcn.nn.operator import SparseOperator, multiply, multiply_add_
from gpcn.nn.polynomial import horner_, powers_
from gpcn.nn.region import Region, region_around, stack_regions, whole_graph


def covers(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> TypeGuard[BankModel]:
    """Whether `DirectPass` can stand for `model`: one block, collapsed, dropout up to `X_T` alone, on a CPU."""
    if not isinstance(model, BankModel) or getattr(model, "blocks", 1) > 1 or model.device.type != "cpu":
        return False
    if getattr(model, "dropout_mode", "collapsible") == "residual" and getattr(model, "dropout", 0.0) > 0:
        return False
    reading = model.read(adjacency, None, x.shape[0])
    width = cast(Linear, model.features.layers[-1]).weight.shape[1]
    return model.order_for(reading.operators, x.shape[0], width) == "collapsed"


@dataclass(frozen=True)
class _Plan:
    """The rows that a step computes, and its memory.

    Attributes:
        training: what the loss depends on.
        evaluation: what the nodes judged depend on, where that is a pass of its own.
        both: training and evaluation below each other, where one pass over both has fewer calls; else `None`.
        train: positions of the training nodes in `training`.
        judged: positions in `evaluation` of the nodes judged; `None` where all are.
        error: the gradient of the logits of `training`, zero but for training nodes.
        blocks: room for all powers, of `training` or `both`.
        evaluation_blocks: the same for `evaluation`, where that is a pass of its own.
    """

    training: Region
    evaluation: Region
    both: Region | None
    train: Tensor
    judged: Tensor | None
    error: Tensor
    blocks: Tensor
    evaluation_blocks: Tensor | None


class DirectPass:
    """Loss, gradients and logits of a model on one graph.

    Args:
        model: one that `covers` accepts.
        x: features, `[N, q]`.
        adjacency: links.
        train: numbers of the training nodes, `[n]`.
        labels: their classes, `[n]`.
        class_weights: of the loss, where classes count differently, `[C]`.
        judged: numbers of the nodes whose logits are wanted (default: all).
    """

    def __init__(
        self,
        model: BankModel,
        x: Features,
        adjacency: AdjacencyLike,
        train: Tensor,
        labels: Tensor,
        class_weights: Tensor | None = None,
        judged: Tensor | None = None,
    ) -> None:
        self.model, self.train, self.judged = model, train, judged
        x = as_features(x)
        reading = model.read(adjacency, None, x.shape[0])
        self.everything = whole_graph(x, reading.operators, reading.links)
        self.layers = [cast(Linear, layer) for layer in model.features.layers]
        numbers = {id(operator): number for number, operator in enumerate(reading.operators)}
        self.joins = [numbers.get(id(operator)) for operator in reading.links]
        weights = torch.ones(len(labels), dtype=model.dtype) if class_weights is None else class_weights[labels]
        self.weights = (weights.to(model.dtype) / weights.sum()).unsqueeze(0)  # [1, n]
        self.wanted = self.weights.new_zeros(model.num_classes, len(labels))  # [C, n]: its weight at a node's class
        self.wanted.scatter_(0, labels.unsqueeze(0), self.weights)
        self.terms = rule_for(model)
        self.plans: dict[bool, _Plan] = {}
        self.sparse_dropout: SparseDropout | None = None
        self.row_dropouts: dict[int, RowDropout] = {}

    def __call__(self, drops: bool) -> tuple[Tensor, Tensor]:
        """Set every weight's gradient; the training loss, and logits `[N, C]` with nothing dropped.

        Where only some nodes are `judged`, the logits of others may be missing (nan).
        """
        with torch.no_grad():
            plan = self._plan(drops)
            pieces = self.terms.forward()
            clean = self._evaluated(plan, pieces) if drops and plan.both is None else None
            forward, count = plan.both or plan.training, len(plan.training)
            x = self._dropped(plan) if drops else plan.training.x
            hidden = self._hidden(x if plan.both is None else plan.both.x, count if drops else 0)
            logits = self._logits(forward, hidden[-1], pieces, plan.blocks)
            if plan.both is not None:
                clean, logits = logits[count:], logits[:count]
                hidden = [result[:count] for result in hidden]
            loss = self._loss(plan, logits)
            self.terms.backward(self._backward(plan, x, hidden, pieces, drops))
        return loss, self._of_all(plan, logits if clean is None else clean)

    def _plan(self, drops: bool) -> _Plan:
        """Which rows training computes, and which the nodes judged need, where that is a pass of its own."""
        if drops not in self.plans:
            everything, depths = self.everything, self.model.depths
            training = evaluation = everything
            if drops:
                training = region_around(self.train, everything, depths)
            if self.judged is not None:
                nodes = self.judged if drops else torch.cat([self.train, self.judged])
                evaluation = region_around(nodes, everything, depths)
                training = training if drops else evaluation
            hidden = sum(layer.weight.shape[1] for layer in self.layers)
            both = stack_regions(training, evaluation, hidden) if drops else None
            shape = 1 + sum(depths), self.model.num_classes
            self.plans[drops] = _Plan(
                training,
                evaluation,
                both,
                training.at(self.train),
                None if evaluation.rows is None or self.judged is None else evaluation.at(self.judged),
                self.weights.new_zeros(len(training), shape[1]),
                self.weights.new_empty(shape[0], len(both or training), shape[1]),
                self.weights.new_empty(shape[0], len(evaluation), shape[1]) if drops and both is None else None,
            )
        return self.plans[drops]

    def _evaluated(self, plan: _Plan, pieces: Pieces) -> Tensor:
        """The logits with nothing dropped."""
        hidden = self._hidden(plan.evaluation.x, 0)[-1]
        return self._logits(plan.evaluation, hidden, pieces, cast(Tensor, plan.evaluation_blocks))

    def _of_all(self, plan: _Plan, logits: Tensor) -> Tensor:
        """`[N, C]`, with the logits of the nodes judged, from those of the rows evaluated."""
        if plan.judged is None or self.judged is None:
            return logits
        every = logits.new_full((len(self.everything), logits.shape[1]), torch.nan)
        return every.index_copy_(0, self.judged, logits.index_select(0, plan.judged))

    def _dropped(self, plan: _Plan) -> Features:
        """The features of training rows with some entries zeroed, in the same memory each time, that of `both` too."""
        share, region = self.model.features.dropout, plan.training
        x, joined = region.x, None if plan.both is None else plan.both.x
        if share == 0:
            return x
        if not isinstance(x, SparseOperator):
            target = torch.empty_like(x) if joined is None else cast(Tensor, joined)[: len(region)]
            return self._row_dropout(-1, share, x.shape[1], region)(target.copy_(x))
        if self.sparse_dropout is None or self.sparse_dropout.p != share:
            stored = cast(SparseOperator, self.everything.x).nnz
            values = None if joined is None else cast(SparseOperator, joined).matrix.values()[: x.nnz]
            self.sparse_dropout = SparseDropout(x, share, region.entries, stored, values)
        return self.sparse_dropout()

    def _row_dropout(self, number: int, share: float, width: int, region: Region) -> RowDropout:
        """That of layer `number`, or -1 for features."""
        existing = self.row_dropouts.get(number)
        if existing is None or existing.p != share:
            existing = self.row_dropouts[number] = RowDropout(share, width, region.rows, len(self.everything))
        return existing

    def _hidden(self, x: Features, dropped: int) -> list[Tensor]:
        """The result of each feature layer, the last is `X_T`, with dropout in the first `dropped` rows."""
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
            current.relu_()
            share = self._dropout(number)
            if dropped and share > 0:
                self._row_dropout(number, share, current.shape[1], self.plans[True].training)(current[:dropped])
            results.append(current)
        return results

    def _dropout(self, number: int) -> float:
        features = self.model.features
        return features.last_dropout if number == len(self.layers) - 1 else features.dropout

    def _scale(self, number: int, drops: bool) -> float:
        """By what dropout multiplied the entries of a layer's result that it left."""
        return 1 / (1 - self._dropout(number)) if drops else 1.0

    def _logits(self, region: Region, hidden: Tensor, pieces: Pieces, blocks: Tensor) -> Tensor:
        powers, classes, _ = pieces.terms.shape
        product = pieces.terms.flatten(0, 1) @ hidden.T  # [powers * C, n]: a few long rows multiply fastest
        lying = product.view(powers, classes, -1).transpose(1, 2)  # [powers, n, C]
        if pieces.bias is None:
            blocks.copy_(lying)
        else:
            torch.add(lying, pieces.bias.unsqueeze(1), out=blocks)
        for link, join in zip(pieces.links, self.joins, strict=True):
            if join is not None:
                blocks[self._first_power(join)].add_(region.take(link))
        total = horner_(region.operators, self.model.depths, lambda k: blocks[k] if k else blocks[0].clone())
        for operator, link, join in zip(region.links, pieces.links, self.joins, strict=True):
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

    def _loss(self, plan: _Plan, logits: Tensor) -> Tensor:
        """Cross entropy of the training nodes; leaves its gradient in the plan's `error`."""
        chosen = logits.index_select(0, plan.train).T.contiguous()  # [C, n]: over few classes, many nodes at a time
        logarithms = torch.log_softmax(chosen, dim=0)
        loss = -(logarithms * self.wanted).sum()
        error = logarithms.exp_().mul_(self.weights).sub_(self.wanted)
        plan.error.index_copy_(0, plan.train, error.T.contiguous())
        return loss

    def _backward(self, plan: _Plan, x: Features, hidden: list[Tensor], pieces: Pieces, drops: bool) -> Pieces:
        """Set the gradients of the feature layers; those of the pieces."""
        region, (powers, classes, width) = plan.training, pieces.terms.shape
        stack = powers_(region.backwards, self.model.depths, plan.error)  # [n, 1 + Σ L_o, C]
        flat = stack.view(-1, powers * classes)
        terms = (flat.T @ hidden[-1]).view(powers, classes, width)
        bias = None if pieces.bias is None else flat.sum(0).view(powers, classes)
        links = tuple(
            multiply(operator.transposed, plan.error)
            if join is None
            else region.spread(stack[:, self._first_power(join)], len(self.everything))
            for operator, join in zip(region.links, self.joins, strict=True)
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
