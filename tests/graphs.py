"""Graphs that tests are about, made in one place; those that `synthesize` makes alone are made where they are used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from gpcn import Graph, Split, random_splits, synthesize


def make_graph(**changes: object) -> Graph:
    """Six nodes, directed, two classes, one node unlabelled, one split."""
    fields: dict[str, object] = {
        "num_nodes": 6,
        "features": np.arange(12, dtype=np.float32).reshape(6, 2),
        "labels": np.array([0, 1, 0, 1, 1, -1]),
        "splits": (Split(train=np.array([0, 1]), val=np.array([2, 3]), test=np.array([4])),),
        "name": "six",
    }
    fields |= changes
    edges = fields.pop("edge_index", np.array([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 3]]))
    return Graph.from_edges(edges, **fields)


def graph_with_isolated_node(seed: int = 0) -> Graph:
    graph = synthesize(nodes=40, classes=3, degree=4, features=7, directed=True, splits=1, seed=seed)
    lonely = graph.adjacency.tolil()
    lonely[5] = 0
    lonely[:, 5] = 0
    features = np.where(np.abs(graph.features) < 0.7, 0, graph.features)
    return Graph(adjacency=lonely.tocsr(), features=features, labels=graph.labels, splits=graph.splits)


def graph_with_isolated_node_and_loop() -> Graph:
    graph = synthesize(nodes=24, classes=3, degree=4, directed=True, features=9, splits=0, seed=4)
    adjacency = graph.adjacency.tolil()
    adjacency[23, :] = 0
    adjacency[:, 23] = 0
    adjacency[2, 2] = 1
    adjacency = adjacency.tocsr()
    adjacency.eliminate_zeros()
    adjacency.data = 0.5 + torch.rand(adjacency.nnz, generator=torch.manual_seed(3)).numpy()
    return Graph(adjacency=adjacency, features=graph.features, labels=graph.labels)


def optionally_weighted_graph(directed: bool, weighted: bool) -> Graph:
    graph = synthesize(nodes=23, classes=3, degree=4, directed=directed, features=9, splits=0, seed=1)
    if not weighted:
        return graph
    adjacency = graph.adjacency.copy()
    adjacency.data = 0.5 + torch.rand(adjacency.nnz, generator=torch.manual_seed(3)).numpy()
    return Graph(adjacency=adjacency, features=graph.features, labels=graph.labels)


def typed_graph(degree: float = 5) -> Graph:
    graph = synthesize(nodes=19, classes=3, degree=degree, directed=True, features=7, splits=0, seed=4)
    rng = np.random.default_rng(5)
    links = graph.adjacency.tocoo()
    weights, pays = 0.5 + rng.random(links.nnz), rng.random(links.nnz) < 0.5

    def part(mask: np.ndarray) -> sp.csr_array:
        return sp.csr_array((weights[mask], (links.row[mask], links.col[mask])), shape=links.shape)

    return Graph(
        adjacency=part(np.ones_like(pays)),
        relations={"pays": part(pays), "owns": part(~pays)},
        features=graph.features,
        labels=graph.labels,
    )


def graph_of_random_links(*, sparse: bool) -> Graph:
    rng = np.random.default_rng(0)
    links = sp.csr_array((rng.random((14, 14)) < 0.25).astype(np.float32))
    features = (rng.normal(size=(14, 6)) * (rng.random((14, 6)) < 0.7)).astype(np.float32)
    labels = np.arange(14) % 3
    return Graph(adjacency=links, features=sp.csr_array(features) if sparse else features, labels=labels)


def heterophilous_graph(**changes: object) -> Graph:
    return synthesize(
        **({"nodes": 200, "classes": 3, "degree": 6, "homophily": 0.1, "mixing": "ring", "splits": 3} | changes)
    )


def named_graph(nodes: int = 60, **changes: Any) -> Graph:
    base = synthesize(nodes=nodes, classes=2, degree=5, splits=2)
    return replace(base, node_ids=[f"n{number}" for number in range(nodes)], **changes)


def imbalanced_graph(metric: str, classes: int = 2) -> Graph:
    graph = synthesize(nodes=160, classes=classes, homophily=0.2, splits=0, seed=4)
    labels = graph.labels.copy()
    flipped = np.flatnonzero(labels == 0)[:40]
    labels[flipped] = 1
    return random_splits(replace(graph, labels=labels, metric=metric), count=2)


def graph_with_few_positives(positives: int, others: int) -> Graph:
    """Two classes by ROC-AUC; of the first few in validation."""
    labels = np.zeros(80, dtype=np.int64)
    labels[:20] = labels[40 : 40 + positives] = labels[70:] = 1
    train, val = np.r_[10:30], np.r_[40 : 40 + positives, 50 : 50 + others]
    split = Split(train=train, val=val, test=np.r_[0:5, 30:35])
    return replace(synthesize(nodes=80, classes=2, splits=0, seed=2), labels=labels, splits=(split,), metric="roc_auc")


def graph_with_one_class_in(role: str) -> Graph:
    """Two classes, but not among the nodes of `role`."""
    graph = synthesize(nodes=80, classes=2, degree=4, splits=1).with_metric("roc_auc")
    (split,) = graph.splits
    parts = {name: getattr(split, name) for name in ("train", "val", "test")}
    parts[role] = parts[role][graph.labels[parts[role]] == 0]
    return replace(graph, splits=(replace(split, **parts),))


def graph_of_senders(nodes: int = 600) -> Graph:
    """Some send twelve times, most four times, to anyone; features are constant and noise."""
    rng = np.random.default_rng(0)
    labels = (rng.random(nodes) < 0.25).astype(np.int64)
    sent = np.where(labels == 1, 12, 4)
    ends = np.stack([np.repeat(np.arange(nodes), sent), rng.integers(0, nodes, sent.sum())])
    features = np.concatenate([np.ones((nodes, 1)), rng.normal(size=(nodes, 3))], axis=1)
    graph = Graph.from_edges(ends, num_nodes=nodes, features=features, labels=labels, label_names=["no", "yes"])
    return random_splits(graph.with_metric("average_precision"), count=1, seed=0)


def graph_of_payments_by_sign(nodes: int = 600, payers: int = 5) -> Graph:
    """Everybody has a random sign; who is paid by those with a positive one is of class 1. Nothing else tells."""
    rng = np.random.default_rng(3)
    sign, labels = rng.integers(0, 2, nodes), rng.integers(0, 2, nodes)
    sources = np.concatenate([rng.choice(np.flatnonzero(sign == label), payers, replace=False) for label in labels])
    targets = np.repeat(np.arange(nodes), payers)
    features = np.stack([2.0 * sign - 1, rng.normal(size=nodes)], axis=1)
    graph = Graph.from_edges(np.stack([sources, targets]), num_nodes=nodes, features=features, labels=labels)
    return random_splits(graph, count=1, train=0.5, val=0.25)


def graph_of_payments_within_classes() -> Graph:
    """Two classes; everybody is paid by a node of the same class, and pays one of twenty others, whoever that is."""
    rng = np.random.default_rng(0)
    nodes, labels = np.arange(400), np.arange(400) % 2
    payers = labels + 2 * rng.integers(0, 10, 400)  # of the first twenty nodes, one of the same class
    shops = 20 + rng.integers(0, 20, 400)
    ends = np.array([np.concatenate([payers, nodes]), np.concatenate([nodes, shops])])
    return Graph.from_edges(ends, num_nodes=400, features=np.zeros((400, 1)), labels=labels)


def directed_graph_with_loop(*, weighted: bool = False) -> Graph:
    graph = synthesize(nodes=150, classes=3, degree=5, directed=True, splits=1, seed=8)
    loops = graph.adjacency.tolil()
    loops[3, 3] = 1.0
    links = loops.tocsr()
    if weighted:
        links.data = np.random.default_rng(0).uniform(0.5, 2, links.nnz).astype(np.float32)
    return replace(graph, adjacency=links)


def grown_graph(graph: Graph, extra: int) -> Graph:
    """The same nodes in another order, with `extra` new ones that link to old ones."""
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    dense = np.zeros((graph.num_nodes + extra,) * 2, dtype=np.float32)
    dense[: graph.num_nodes, : graph.num_nodes] = graph.adjacency.toarray()[order][:, order]
    for number in range(extra):
        dense[graph.num_nodes + number, number] = 1
    features = np.concatenate([graph.features[order], np.ones((extra, graph.num_features), np.float32)])
    ids = graph.node_ids or [str(number) for number in range(graph.num_nodes)]
    return Graph(
        adjacency=dense,
        features=features,
        labels=np.full(len(dense), -1),
        node_ids=[*(ids[node] for node in order), *(f"new-{number}" for number in range(extra))],
        label_names=graph.label_names,
    )


def star_graph(leaves: int) -> Graph:
    hub = np.zeros(leaves, np.int64)
    ends = np.arange(1, leaves + 1)
    edges = np.concatenate([np.stack([hub, ends]), np.stack([ends, hub])], axis=1)
    labels = np.arange(leaves + 1) % 2
    third = (leaves + 1) // 3
    order = np.arange(leaves + 1)
    split = Split(train=order[:third], val=order[third : 2 * third], test=order[2 * third :])
    features = np.ones((leaves + 1, 1), np.float32)
    return Graph.from_edges(edges, num_nodes=leaves + 1, features=features, labels=labels, splits=(split,), name="star")


def graph_of_three_groups(directed: bool = True) -> Graph:
    """Three groups of nodes with few links between them, mixed up."""
    graph = synthesize(nodes=60, classes=3, degree=6, homophily=0.9, features=5, splits=1, seed=3, directed=directed)
    rows = np.arange(59)
    some = sp.csr_array((np.ones(59, np.float32), (rows, rows + 1)), shape=(60, 60))
    return replace(graph, relations={"next": some, "all": graph.adjacency}, adjacency=graph.adjacency + some)


def graph_of_kind(directed: bool, sparse: bool, **changes: Any) -> Graph:
    sizes = {"nodes": 50, "classes": 3, "degree": 4.0, "features": 5, "splits": 1, "seed": 2} | changes
    graph = synthesize(directed=directed, **sizes)
    if sparse:
        features = np.where(graph.features > 0.5, graph.features, 0)
        graph = replace(graph, features=sp.csr_array(features))
    return graph


def graph_with_rare_fraud() -> Graph:
    balanced = synthesize(nodes=200, classes=2, homophily=0.2, splits=0, seed=6)
    labels = balanced.labels.copy()
    labels[np.flatnonzero(labels == 0)[:70]] = 1
    return random_splits(replace(balanced, labels=labels, label_names=("fraud", "fine")), count=3)
