"""Payments between four people as tables, of which the tests of edges read parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpcn import Columns, Graph

EDGES = """payer,payee,amount,kind,at,remark
a,b,10,card,2024-03-01,lunch with all
a,b,30,cash,2024-03-03,
b,c,5,card,2024-03-05,rent
c,a,,transfer,2024-03-07,gift
a,c,20,cash,,tea
"""
NODES = """person,age,city,since,likes,active,role
a,31,Graz,2020-01-05,tea;chess,yes,boss
b,,Leeds,2021-02-06,tea,no,clerk
c,54,Graz,2019-03-07,chess;tea,yes,boss
d,47,,2018-04-08,,,clerk
"""
COLUMNS = Columns(source="payer", target="payee", id="person", label="role", scale="none")


def written(folder: Path, edges: str = EDGES, nodes: str = NODES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "edges.csv").write_text(edges)
    (folder / "nodes.csv").write_text(nodes)
    return folder


def features(graph: Graph) -> dict[str, list[float]]:
    matrix = graph.features.toarray() if graph.has_sparse_features else graph.features
    return dict(zip(graph.feature_names or (), matrix.T.tolist(), strict=True))


def union(graph: Graph) -> np.ndarray:
    return np.stack([matrix.toarray() for matrix in graph.relations.values()])


def same_relations(one: Graph, two: Graph) -> bool:
    return list(one.relations) == list(two.relations) and np.array_equal(union(one), union(two))
