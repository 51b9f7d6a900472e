"""The picture of a prediction: who is in it, how wide lines are, and that names stay text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpcn import ConfigError, Graph
from gpcn.explanation import explain
from gpcn.explanation.ego_picture import MOST, REACH, ego_picture, write_picture
from gpcn.runs.run import Run
from tests.explanation.short_training import trained

SVG = "{http://www.w3.org/2000/svg}"


def test_the_nodes_that_matter_have_lines_as_wide_as_they_count(run: Run, graph: Graph) -> None:
    account = explain(run, graph, "person 3", top=REACH)
    drawn = ElementTree.fromstring(ego_picture(account, graph))
    totals: dict[str, float] = {}
    for source in account.sources:
        for node in source.top:
            if not node.itself:
                totals[node.node] = totals.get(node.node, 0.0) + node.margin
    strongest = sorted(totals, key=lambda name: -abs(totals[name]))[:MOST]
    titles = [title.text or "" for title in drawn.iter(f"{SVG}title")]
    assert {title.split(":")[0] for title in titles} == {*strongest, "person 3"}
    assert f"{strongest[0]}: {totals[strongest[0]]:+.3f}" in " ".join(titles)
    widths = [float(line.attrib["stroke-width"]) for line in drawn.iter(f"{SVG}line")]
    assert len(widths) == len(strongest)
    assert max(widths) == 9
    assert ego_picture(account, graph) == ego_picture(account, graph)


def test_names_are_text(run: Run, graph: Graph, tmp_path: Path) -> None:
    nasty = "</text><script>alert(1)</script>"
    named = replace(graph, node_ids=[f"{number}{nasty}\u202e" for number in range(120)])
    account = replace(explain(run, named, f"3{nasty}\u202e", top=REACH), predicted=f'"{nasty}')
    text = ego_picture(account, named)
    drawn = ElementTree.fromstring(text)
    assert not list(drawn.iter(f"{SVG}script"))
    assert "<script" not in text
    assert "\u202e" not in text
    with pytest.raises(ConfigError, match=r"expected a name that ends in \.svg"):
        write_picture(account, named, tmp_path / "ego.png")


def test_a_node_that_nobody_matters_to_is_drawn_alone(graph: Graph, tmp_path: Path) -> None:
    mlp = trained(graph, tmp_path / "mlp", "mlp", hidden=4)
    drawn = ElementTree.fromstring(ego_picture(explain(mlp, graph, "person 3"), graph))
    assert len(list(drawn.iter(f"{SVG}line"))) == 0
    assert any("no other node counts" in (text.text or "") for text in drawn.iter(f"{SVG}text"))
