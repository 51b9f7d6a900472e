"""What the links say of a node, against NetworkX."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import Columns, ConfigError, DataError, Graph, load, save, synthesize
from gpcn.preparation import structure
from gpcn.preparation.appended import with_structure_features
from tests.commands import refused
from tests.graphs import make_graph

SHAPE = [
    "links: share reciprocated",
    "links: log mean degree of neighbours",
    "links: log pagerank",
    "links: log core number",
    "links: clustering",
]


def matrix(graph: nx.Graph) -> sp.csr_array:
    return sp.csr_array(nx.to_scipy_sparse_array(graph, nodelist=range(graph.number_of_nodes()), dtype=np.float32))


@pytest.fixture(scope="module")
def friends() -> nx.Graph:
    graph = nx.gnm_random_graph(120, 300, seed=4)
    graph.add_edges_from([(0, 1), (1, 2), (0, 2)])
    graph.remove_edges_from(list(graph.edges(119)))
    return graph


@pytest.fixture(scope="module")
def follows() -> nx.DiGraph:
    return nx.gnm_random_graph(120, 500, seed=5, directed=True)


def in_order(values: dict[int, float]) -> np.ndarray:
    return np.array([values[node] for node in sorted(values)], dtype=np.float64)


def test_pagerank_is_networkx_s(friends: nx.Graph, follows: nx.DiGraph) -> None:
    for graph in (friends, follows):
        ours = structure.pagerank(matrix(graph))
        np.testing.assert_allclose(ours, in_order(nx.pagerank(graph, alpha=0.85, tol=1e-12)), rtol=1e-4)
        assert ours.sum() == pytest.approx(1)


def test_pagerank_of_a_star_reaches_its_centre() -> None:
    ours = structure.pagerank(matrix(nx.DiGraph([(1, 0), (2, 0), (3, 0)])))
    assert ours.argmax() == 0
    np.testing.assert_allclose(ours[1:], ours[1])


def test_cores_clustering_and_neighbours_are_networkx_s(friends: nx.Graph) -> None:
    columns = structure.link_structure_features(matrix(friends), directed=False)
    assert list(columns) == SHAPE[1:]
    np.testing.assert_allclose(np.expm1(columns["links: log core number"]), in_order(nx.core_number(friends)))
    np.testing.assert_allclose(columns["links: clustering"], in_order(nx.clustering(friends)), atol=1e-9)
    around = in_order(nx.average_neighbor_degree(friends))
    np.testing.assert_allclose(np.expm1(columns["links: log mean degree of neighbours"]), around, atol=1e-9)
    pagerank = in_order(nx.pagerank(friends, alpha=0.85, tol=1e-12))
    np.testing.assert_allclose(columns["links: log pagerank"], np.log(120 * pagerank), atol=1e-4)


def test_directed_links_are_mirrored_for_cores_and_triangles(follows: nx.DiGraph) -> None:
    columns = structure.link_structure_features(matrix(follows), directed=True)
    assert list(columns) == SHAPE
    mirrored = follows.to_undirected()
    np.testing.assert_allclose(np.expm1(columns["links: log core number"]), in_order(nx.core_number(mirrored)))
    np.testing.assert_allclose(columns["links: clustering"], in_order(nx.clustering(mirrored)), atol=1e-9)


def test_the_share_of_links_that_are_returned_is_a_column(follows: nx.DiGraph) -> None:
    expected = [
        np.mean([follows.has_edge(other, node) for other in follows.successors(node)])
        if follows.out_degree(node)
        else 0.0
        for node in sorted(follows)
    ]
    columns = structure.link_structure_features(matrix(follows), directed=True)
    np.testing.assert_allclose(columns["links: share reciprocated"], expected)
    assert max(expected) > 0


def test_degrees_count_repeated_edges() -> None:
    ends = np.array([[0, 0, 1, 2], [1, 1, 2, 2]])
    directed = structure.degree_features(ends, 4, directed=True)
    np.testing.assert_allclose(np.expm1(directed["links: log out-degree"]), [2, 1, 1, 0])
    np.testing.assert_allclose(np.expm1(directed["links: log in-degree"]), [0, 2, 2, 0])
    undirected = structure.degree_features(ends, 4, directed=False)
    assert list(undirected) == ["links: log degree"]
    np.testing.assert_allclose(np.expm1(undirected["links: log degree"]), [2, 3, 3, 0])


def test_weights_are_summed_by_direction() -> None:
    weighted = sp.csr_array(np.array([[0, 2.5, 1], [0, 0, 4], [0, 0, 0]], dtype=np.float32))
    columns = structure.link_structure_features(weighted, directed=True)
    np.testing.assert_allclose(np.expm1(columns["links: log weight out"]), [3.5, 4, 0], rtol=1e-6)
    np.testing.assert_allclose(np.expm1(columns["links: log weight in"]), [0, 2.5, 5], rtol=1e-6)
    assert "links: log weight in" not in structure.link_structure_features(weighted.maximum(weighted.T), directed=False)


def test_a_graph_without_edges_has_plain_numbers() -> None:
    columns = structure.link_structure_features(sp.csr_array((3, 3), dtype=np.float32), directed=True)
    assert all(np.isfinite(column).all() for column in columns.values())
    np.testing.assert_allclose(columns["links: log pagerank"], 0, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_links_stand_beside_those_of_a_stored_graph(sparse: bool, tmp_path: Path) -> None:
    graph = synthesize(nodes=100, degree=4, directed=True)
    if sparse:
        graph = make_graph(features=sp.csr_array(np.eye(6)))
    save(graph, tmp_path / "g.npz")
    more = load(tmp_path / "g.npz", columns=Columns(structure="full"))
    assert more.num_features == graph.num_features + 2 + len(SHAPE)
    assert list(more.feature_names or ())[-5:] == SHAPE
    plain = more.features.toarray() if more.has_sparse_features else more.features
    before = graph.features.toarray() if graph.has_sparse_features else graph.features
    np.testing.assert_array_equal(plain[:, : graph.num_features], before)
    assert np.isfinite(plain).all()
    degrees = load(tmp_path / "g.npz", columns=Columns(structure="degrees"))
    assert degrees.num_features == graph.num_features + 2
    assert load(tmp_path / "g.npz", columns=Columns(structure="none")).equals(graph)
    assert load(tmp_path / "g.npz").equals(graph)


@pytest.mark.mirror
def test_a_dataset_takes_features_of_its_links(mirror: Path) -> None:
    plain = load("texas", mirror=mirror)
    more = load("texas", mirror=mirror, columns=Columns(structure="full"))
    assert more.num_features == plain.num_features + 7
    assert all(one.equals(two) for one, two in zip(more.splits, plain.splits, strict=True))


def test_another_graph_is_scaled_like_the_first() -> None:
    first, second = (synthesize(nodes=size, degree=6, seed=size) for size in (100, 150))
    fitted = with_structure_features(first, "degrees").preparation
    assert fitted is not None
    alike, anew = with_structure_features(second, "degrees", fitted), with_structure_features(second, "degrees")
    degree = np.log1p(np.diff(second.adjacency.indptr))
    expected = fitted.columns[0].encoder.encode_numbers(degree)[:, 0]  # type: ignore[union-attr]
    np.testing.assert_allclose(alike.features[:, -1], expected, atol=1e-6)
    assert not np.allclose(anew.features[:, -1], expected)


@pytest.fixture
def prepared(tmp_path: Path) -> Graph:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\na,d\n")
    (tmp_path / "nodes.csv").write_text("id,age,label\na,1.5,x\nb,2,y\nc,3,x\nd,4,y\n")
    return load(tmp_path)


def test_a_graph_made_from_tables_is_not_given_features_twice(prepared: Graph, tmp_path: Path) -> None:
    save(prepared, tmp_path / "g.npz")
    with pytest.raises(ConfigError, match=r"were prepared from tables; name structure='full' where they are converted"):
        load(tmp_path / "g.npz", columns=Columns(structure="full"))
    assert "prepared from tables" in refused("inspect", tmp_path / "g.npz", "--structure", "degrees")


def test_tables_say_how_much_of_the_links_they_take(prepared: Graph, tmp_path: Path) -> None:
    names = {level: load(tmp_path, columns=Columns(structure=level)).feature_names for level in ("none", "full")}
    assert names["none"] == ("age",)
    degrees = ("age", "links: log out-degree", "links: log in-degree")
    assert prepared.feature_names == degrees
    assert names["full"] == (*degrees, *SHAPE)


def test_a_table_without_features_takes_everything_the_links_say(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\na,d\n")
    (tmp_path / "nodes.csv").write_text("id,label\na,x\nb,y\nc,x\nd,y\n")
    assert load(tmp_path).feature_names == ("links: log out-degree", "links: log in-degree", *SHAPE)


def test_a_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="structure is 'all'; expected auto or none or degrees or full"):
        Columns(structure="all")
    with pytest.raises(DataError, match="there is no file"):
        load(tmp_path / "nothing.npz", columns=Columns(structure="full"))
