"""Why a run predicts what it predicts: the parts of the logits, for one node or for all."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.errors import CheckpointError, ConfigError, DataError
from gpcn.graph import Graph
from gpcn.nn import bank as banks
from gpcn.nn import decomposition, zoo
from gpcn.nn.attribution import attributions
from gpcn.nn.bank_model import BankModel
from gpcn.sentences import sentences
from gpcn.training.fitted import Fitted
from gpcn.training.runs import Run
from gpcn.types import ROLES, UNKNOWN

MANY = 20_000


@dataclass(frozen=True)
class Carried:
    """What carries each node's prediction: `margins` `[parts, N]` sum to winner's logit minus runner-up's."""

    parts: tuple[str, ...]
    margins: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.int64]


def explain(run: Run, graph: Graph, node: str, *, split: int | None = None, top: int = 5) -> dict[str, Any]:
    """A JSON-ready account of one prediction, by the model of one split (default: the first finished one).

    Every number is a share of a logit: `winner` of the predicted class's own, `margin` of its lead over the runner-up.
    Adding the same number to all logits changes no probability, so `margin` is what can be compared between parts,
    and what the `top` nodes of each part and the `top` features are chosen by. A feature's share is exact
    (`nn.attribution`): what it gives as the node's own, and what it gives as a feature of `others`.
    """
    account = account_of(run, graph, node, chosen_split(run, split), None, top)
    return {**account, "features": account["features"][:top], "sentences": sentences(account)}


def account_of(
    run: Run, graph: Graph, node: str, number: int, pair: tuple[int, int] | None, top: int
) -> dict[str, Any]:
    """The same with all features and no sentences, for the model of split `number`, about a `pair` of classes (default:
    the two it finds likeliest)."""
    place = position(graph, node)
    fitted = Fitted.of(run, graph, torch.float64)
    model = fitted.model(number)
    inputs = fitted.problem.x, fitted.problem.adjacency
    parts = {name: part[place] for name, part in decomposition.parts(model, *inputs)}
    logits = torch.stack(list(parts.values())).sum(0)
    winner, runner_up = pair or (int(index) for index in logits.topk(2).indices)
    probabilities, classes = torch.softmax(logits, 0), run.label_names()
    roles = _roles(run, graph, number)

    def shares(given: Tensor) -> dict[str, float]:
        return {"winner": float(given[winner]), "margin": float(given[winner] - given[runner_up])}

    behind = []
    for found in decomposition.sources(model, *inputs, place):
        if found.part == decomposition.FEATURES:
            continue  # of nobody but the node itself
        order = (found.gives[:, winner] - found.gives[:, runner_up]).abs().argsort(descending=True, stable=True)[:top]
        nodes = [int(found.nodes[at]) for at in order]
        told = [
            {**_named(graph, near), "role": roles[near], "itself": near == place, **shares(found.gives[at])}
            for near, at in zip(nodes, order, strict=True)
        ]
        behind.append({"part": found.part, "nodes": len(found.nodes), "top": told})
    features, origins = _features(fitted, decomposition.checked(model), place, winner, runner_up)
    return {
        "run": str(run.path),
        "model": run.config.model,
        "graph": graph.name,
        "split": number,
        **_named(graph, place),
        "role": roles[place],
        "predicted": classes[winner],
        "probability": float(probabilities[winner]),
        "runner_up": classes[runner_up],
        "runner_up_probability": float(probabilities[runner_up]),
        "mu": model.mix(),
        "sum": shares(logits),
        "parts": [{"part": name, **shares(part)} for name, part in parts.items()],
        "sources": behind,
        "features": features,
        "origins": origins,
        "notes": list(fitted.notes),
    }


def _features(
    fitted: Fitted, model: BankModel, node: int, winner: int, runner_up: int
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The share of the lead that each input feature has, the largest first: of the node's own, and of others'.

    Beside it what all features, links and biases give together; these three are the lead.
    """
    nodes = torch.zeros(fitted.graph.num_nodes, dtype=torch.float64)
    lead = torch.zeros(len(fitted.run.label_names()), dtype=torch.float64)
    nodes[node], lead[winner], lead[runner_up] = 1, 1, -1
    shares = torch.zeros(2, fitted.graph.num_features, dtype=torch.float64)
    origins = {"features": 0.0, "links": 0.0, "biases": 0.0}
    for part in attributions(model, fitted.problem.x, fitted.problem.adjacency, nodes, lead):
        real = part.features >= 0
        whose = (part.nodes[real] != node).long()
        shares.index_put_((whose, part.features[real].long()), part.shares[real], accumulate=True)
        origins["links" if part.part in model.link_names() else "biases"] += float(part.shares[~real].sum())
    origins["features"] = float(shares.sum())
    names = fitted.run.graph["feature_names"]
    order = shares.sum(0).abs().argsort(descending=True, stable=True)
    listed = [
        {
            "feature": f"feature {feature}" if names is None else names[feature],
            "margin": float(shares[:, feature].sum()),
            "itself": float(shares[0, feature]),
            "others": float(shares[1, feature]),
        }
        for feature in order.tolist()
        if shares[:, feature].any()
    ]
    return listed, origins


def carried(fitted: Fitted, number: int) -> Carried:
    """The same for all nodes at once, without who is behind each part."""
    model = fitted.model(number)
    inputs = fitted.problem.x, fitted.problem.adjacency
    with torch.no_grad():
        best = model(*inputs).topk(2).indices  # [N, 2]
    names, margins = [], []
    for name, part in decomposition.parts(model, *inputs):
        pair = part.gather(1, best)
        names.append(name)
        margins.append((pair[:, 0] - pair[:, 1]).numpy())
    return Carried(tuple(names), np.stack(margins), best[:, 0].numpy())


def can_be_explained(run: Run) -> bool:
    """Whether the run's model is one whose logits are a sum over hops."""
    return decomposition.can_be_decomposed(zoo.entry(run.config.model).kind, run.config.hyperparameters)


def power_names(run: Run) -> list[str] | None:
    """The names of the powers of a bank of operators; `None` for the paper's one operator, whose powers are hops."""
    config, structure = run.config, run.structure()
    bank = banks.parse(str(config.hyperparameters.get("operators", banks.PAPER)))
    resolved = banks.resolve(bank, directed=structure.directed, relations=structure.relations)
    return None if resolved == (banks.THE_PAPERS,) else banks.part_names(resolved, int(config["layers"]))


def chosen_split(run: Run, split: int | None) -> int:
    """A finished split of a run that can be explained."""
    if not can_be_explained(run):
        entries = [zoo.entry(name) for name in zoo.names()]
        able = [model.name for model in entries if decomposition.can_be_decomposed(model.kind, model.settle({}))]
        raise ConfigError(
            f"{run.path} holds a {run.config.model}, which cannot be decomposed; only the polynomial models are sums "
            f"over hops: train one of {', '.join(able)}"
        )
    finished = run.finished()
    if not finished:
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")
    if split is not None and split not in finished:
        known = ", ".join(map(str, finished))
        raise ConfigError(f"split {split} of {run.path} is not finished or does not exist; finished: {known}")
    return finished[0] if split is None else split


def position(graph: Graph, node: str) -> int:
    """Where the node of this name is; its number is its name where the graph has no names."""
    if graph.node_ids is None:
        if node.isascii() and node.isdigit() and int(node) < graph.num_nodes:
            return int(node)
        raise DataError(
            f"there is no node {node!r} in {graph.name}, whose nodes have no names; expected a number from 0 to "
            f"{graph.num_nodes - 1}"
        )
    if node in graph.node_ids:
        return graph.node_ids.index(node)
    likely = graph.node_ids
    if len(likely) > MANY:
        likely = [name for name in likely if name[:2].lower() == node[:2].lower()][:MANY]
    close = difflib.get_close_matches(node, likely, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"its nodes are called {graph.node_ids[0]} and so on"
    raise DataError(f"there is no node {node!r} in {graph.name}; {hint}")


def _named(graph: Graph, place: int) -> dict[str, str | None]:
    """What a node and its class are called."""
    label = int(graph.labels[place])
    known = None if label == UNKNOWN else graph.label_names[label] if graph.label_names else str(label)
    return {"node": graph.node_ids[place] if graph.node_ids else str(place), "label": known}


def _roles(run: Run, graph: Graph, number: int) -> list[str | None]:
    """What each node was for in that split, where the graph still is the one trained on."""
    roles: list[str | None] = [None] * graph.num_nodes
    if graph.fingerprint() == run.graph["fingerprint"]:
        for role in ROLES:
            for node in getattr(graph.splits[number], role):
                roles[node] = role
    return roles
