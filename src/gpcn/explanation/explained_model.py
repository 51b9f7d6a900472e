"""`ExplainedModel`: the model of one split of a run on a graph, with the names that an account of it needs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpcn.core.errors import DataError
from gpcn.core.types import UNKNOWN
from gpcn.explanation.account import Explanation, FeatureShare, Shares, SourceNode
from gpcn.graph import Graph
from gpcn.nn.base import NodeClassifier
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.run import Run

MOST_COMPARED = 20_000  # names of nodes that a misspelt one is compared with


@dataclass(frozen=True)
class ExplainedModel:
    """A model ready to evaluate in double precision; `roles` says what each node was for in its split."""

    fitted: Fitted
    graph: Graph
    number: int
    model: NodeClassifier
    roles: tuple[str | None, ...]

    @classmethod
    def of(cls, run: Run, graph: Graph, number: int) -> ExplainedModel:
        """The model of split `number`."""
        fitted = Fitted.of(run, graph, torch.float64)
        return cls(fitted, graph, number, fitted.model(number), _roles(run, graph, number))

    @property
    def run(self) -> Run:
        """The run it is of."""
        return self.fitted.run

    @torch.no_grad()
    def logits(self) -> Tensor:
        """The logits of all nodes, `[N, C]`."""
        output: Tensor = self.model(self.fitted.problem.x, self.fitted.problem.adjacency)
        return output.double()

    def indicator(self, node: int) -> Tensor:
        """`[N]`, one for `node` and zero for all others."""
        weights = torch.zeros(self.graph.num_nodes, dtype=torch.float64)
        weights[node] = 1
        return weights

    def feature_name(self, feature: int) -> str:
        """What a feature is called."""
        names = self.run.graph.feature_names
        return f"feature {feature}" if names is None else str(names[feature])

    def node_name(self, node: int) -> str:
        """Return the name of a node."""
        return self.graph.node_ids[node] if self.graph.node_ids else str(node)

    def label_name(self, node: int) -> str | None:
        """Return the name of its class, where that is known."""
        label, names = int(self.graph.labels[node]), self.graph.label_names
        return None if label == UNKNOWN else names[label] if names else str(label)

    def source_node(self, node: int, shares: Shares, *, itself: bool) -> SourceNode:
        """A node with what it gives."""
        return SourceNode(
            self.node_name(node), self.label_name(node), self.roles[node], itself, shares.winner, shares.margin
        )

    def feature_shares(self, total: Tensor, itself: Tensor, others: Tensor) -> tuple[FeatureShare, ...]:
        """The features that give anything to a lead, the largest first; each tensor is `[q]`."""
        return tuple(
            FeatureShare(
                self.feature_name(feature), float(total[feature]), float(itself[feature]), float(others[feature])
            )
            for feature in total.abs().argsort(descending=True, stable=True).tolist()
            if itself[feature] or others[feature]
        )

    def explanation(self, node: int, logits: Tensor, winner: int, runner_up: int, **found: Any) -> Explanation:
        """The account of a node with these `logits` `[C]`: what is common to every method, and what one has `found`."""
        probabilities, classes = self.run.task().activation(logits), self.run.label_names()
        return Explanation(
            run=str(self.run.path),
            model=self.run.config.model,
            graph=self.graph.name,
            split=self.number,
            node=self.node_name(node),
            label=self.label_name(node),
            role=self.roles[node],
            predicted=classes[winner],
            probability=float(probabilities[winner]),
            runner_up=classes[runner_up],
            runner_up_probability=float(probabilities[runner_up]),
            mu=self.model.mix(),
            **found,
        )


def explained_node_position(graph: Graph, node: str) -> int:
    """The index of the node of this name; its number is its name where the graph has no names."""
    if graph.node_ids is None:
        if node.isascii() and node.isdigit() and int(node) < graph.num_nodes:
            return int(node)
        raise DataError(
            f"there is no node {node!r} in {graph.name}, whose nodes have no names; expected a number from 0 to "
            f"{graph.num_nodes - 1}"
        )
    if node in graph.node_ids:
        return graph.node_ids.index(node)
    candidates = graph.node_ids
    if len(candidates) > MOST_COMPARED:
        candidates = [name for name in candidates if name[:2].lower() == node[:2].lower()][:MOST_COMPARED]
    close = difflib.get_close_matches(node, candidates, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"its nodes are called {graph.node_ids[0]} and so on"
    raise DataError(f"there is no node {node!r} in {graph.name}; {hint}")


def _roles(run: Run, graph: Graph, number: int) -> tuple[str | None, ...]:
    """What each node was for in that split, where the graph still is the one trained on."""
    if graph.fingerprint() != run.graph.fingerprint:
        return (None,) * graph.num_nodes
    return tuple(graph.splits[number].names(graph.num_nodes))
