"""Models with a vector per node on subgraphs, as the loaders of PyTorch Geometric give them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.utils import subgraph

import gpcn
from gpcn.core.errors import ConfigError
from gpcn.nn import zoo

PER_NODE = [name for name in zoo.names() if zoo.specification_of(name).per_node]
NODES = 60


@pytest.fixture(scope="module")
def data():  # type: ignore[no-untyped-def]
    return gpcn.to_pyg(gpcn.synthesize(nodes=NODES, classes=3, splits=1, seed=2))


def built(name: str, data) -> torch.nn.Module:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    width = {} if name == "link" else {"hidden": 8}
    return zoo.build(name, in_channels=data.num_features, out_channels=3, num_nodes=NODES, **width)


@pytest.mark.parametrize("name", PER_NODE)
def test_all_nodes_in_another_order_are_the_same_nodes(name: str, data) -> None:  # type: ignore[no-untyped-def]
    model = built(name, data).eval()
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(1))
    where = torch.empty_like(order)
    where[order] = torch.arange(NODES)
    expected: Tensor = model(data.x, data.edge_index)
    turned = model(data.x[order], where[data.edge_index], node_ids=order)
    torch.testing.assert_close(turned, expected[order], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model(data.x, data.edge_index, node_ids=torch.arange(NODES)), expected)


@pytest.mark.parametrize("name", PER_NODE)
def test_a_subgraph_is_the_graph_without_the_others_links(name: str, data) -> None:  # type: ignore[no-untyped-def]
    """What a node reads on a subgraph is what it would read if the links to all others were cut."""
    model = built(name, data).eval()
    nodes = torch.arange(10, 40)
    inner, _ = subgraph(nodes, data.edge_index, relabel_nodes=False)
    expected: Tensor = model(data.x, inner)[nodes]
    small = model(data.x[nodes], inner - 10, node_ids=nodes)
    torch.testing.assert_close(small, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PER_NODE)
def test_a_subgraph_without_node_ids_is_refused_with_what_to_pass(name: str, data) -> None:  # type: ignore[no-untyped-def]
    model = built(name, data)
    inner, _ = subgraph(torch.arange(20), data.edge_index)
    with pytest.raises(ConfigError, match=r"features for 20; on a subgraph pass node_ids=.*batch\.n_id"):
        model(data.x[:20], inner)
    with pytest.raises(ConfigError, match=r"node_ids has shape \[3\]; expected \[20\]"):
        model(data.x[:20], inner, node_ids=torch.arange(3))
    with pytest.raises(ConfigError, match="knows 0 to 59"):
        model(data.x[:20], inner, node_ids=torch.arange(50, 70))
    with pytest.raises(ConfigError, match=r"torch.float32; expected a tensor of whole numbers"):
        model(data.x[:20], inner, node_ids=torch.zeros(20))


def test_a_mini_batch_loop_learns(data) -> None:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    model = built("gpcn-link", data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    data = data.clone()
    data.n_id = torch.arange(NODES)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(30):
        total = 0.0
        for nodes in torch.randperm(NODES, generator=generator).split(20):
            batch = data.subgraph(nodes.sort().values)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch.x, batch.edge_index, node_ids=batch.n_id), batch.y)
            loss.backward()
            optimizer.step()
            total += float(loss.detach())
        losses.append(total)
    assert losses[-1] < 0.7 * losses[0]
