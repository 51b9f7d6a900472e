from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from gpcn import ConfigError
from gpcn.data.presets import PRESETS, draw_preset, write_preset
from gpcn.data.tables.columns import IDS, LABELS, SOURCES, TARGETS
from gpcn.data.tables.delimited import read_table
from tests.commands import document, refused
from tests.commands import in_process as gpcn

FEATURES = {
    "fraud": ("income", "age", "opened", "country", "note", "referral_code", "version"),
    "social": ("birth_year", "joined", "city", "interests", "bio", "active"),
    "pages": ("title", "text", "words", "tags", "lang"),
}
DROPPED = {"fraud": "age", "social": "active", "pages": "title"}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.csv")}


def numbers(values: list[str]) -> np.ndarray:
    return np.array([float(value) if value else np.nan for value in values])


def missing(values: list[str]) -> float:
    return values.count("") / len(values)


def ends(edges: dict[str, list[str]], ids: list[str], source: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    position = {name: index for index, name in enumerate(ids)}
    return tuple(np.array([position[name] for name in edges[side]]) for side in (source, target))


@pytest.mark.parametrize("name", PRESETS)
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_preset(name, tmp_path / folder, nodes=200, seed=seed)
    a, b, c = (files(tmp_path / folder) for folder in "abc")
    chosen = PRESETS[name]
    expected = {chosen.node_file, chosen.edge_file, f"next/{chosen.node_file}", f"next/{chosen.edge_file}"}
    assert set(a) == expected
    assert a == b
    assert all(a[file] != c[file] for file in expected)


@pytest.mark.parametrize("name", PRESETS)
def test_tables_are_readable_and_their_columns_must_be_named(name: str, tmp_path: Path) -> None:
    chosen, drawn = PRESETS[name], write_preset(name, tmp_path / "out")
    table = read_table(tmp_path / "out" / chosen.node_file, text=(chosen.id,))
    assert table.column_names == [chosen.id, *FEATURES[name], chosen.label]
    assert table.num_rows == chosen.nodes
    ids = table.column(chosen.id).to_pylist()
    assert len(set(ids)) == len(ids)
    for month in (drawn.now, drawn.next):
        named = set(month.nodes[chosen.id])
        assert named.issuperset(month.edges[chosen.source]) and named.issuperset(month.edges[chosen.target])
        assert not any(a == b for a, b in zip(month.edges[chosen.source], month.edges[chosen.target], strict=True))
    for names, usual in (
        (drawn.now.edges, (*SOURCES, *TARGETS, "weight")),
        (drawn.now.nodes, (*IDS, *LABELS, "split")),
    ):
        assert not set(names) & set(usual)


@pytest.mark.parametrize("name", PRESETS)
def test_next_month_is_different(name: str) -> None:
    chosen, drawn = PRESETS[name], draw_preset(name)
    now, later = drawn.now.nodes, drawn.next.nodes
    assert set(later) == set(now) - {DROPPED[name], chosen.label}
    assert list(later) != [column for column in now if column in later]
    assert list(drawn.next.edges) != list(drawn.now.edges)
    assert len(later[chosen.id]) == round(1.1 * chosen.nodes)
    assert later[chosen.id][: chosen.nodes] == now[chosen.id]
    assert set(drawn.truth) == set(later[chosen.id])
    assert {label for label in now[chosen.label] if label} == set(drawn.truth.values())
    if name == "fraud":
        assert set(later["country"]) - set(now["country"]) == {"BR"}
        assert numbers(later["income"]).max() > 1e6 >= numbers(now["income"]).max()
        assert min(later["opened"][3000:]) > max(now["opened"])
        assert "crypto" in drawn.next.edges["kind"]
    elif name == "social":
        assert "Valletta" in later["city"]
        assert any("padel" in tags for tags in later["interests"])
        assert np.nanmax(numbers(later["birth_year"])) > np.nanmax(numbers(now["birth_year"]))
    else:
        assert "pt" in later["lang"]
        assert any("breaking" in tags for tags in later["tags"])


def test_fraud_has_the_stated_shares() -> None:
    drawn = draw_preset("fraud")
    accounts, transfers = drawn.now.nodes, drawn.now.edges
    truth = [drawn.truth[account] for account in accounts["account"]]
    assert truth.count("yes") / 3000 == pytest.approx(0.06, abs=1e-3)
    assert missing(accounts["fraud"]) == pytest.approx(0.10, abs=1e-3)
    assert missing(accounts["age"]) == pytest.approx(0.08, abs=0.015)
    assert 0 < missing(accounts["country"]) < 0.1 and 0.2 < missing(accounts["note"]) < 0.4
    assert 0 < accounts["country"].count("LI") < 30
    assert len(set(accounts["referral_code"])) == 3000 and set(accounts["version"]) == {"2.1"}
    assert all("@" in account for account in accounts["account"])
    assert len(transfers["at"]) == 12_000 and set(transfers["kind"]) == {"transfer", "card", "cash"}
    pairs = set(zip(transfers["payer"], transfers["payee"], strict=True))
    assert 300 < 12_000 - len(pairs) < 1500
    assert len(set(accounts["account"]) - {name for pair in pairs for name in pair}) > 30
    np.array(accounts["opened"], dtype="datetime64[D]")
    np.array(transfers["at"], dtype="datetime64[s]")


def test_fraud_is_in_the_degrees() -> None:
    drawn = draw_preset("fraud")
    accounts = drawn.now.nodes
    plain = np.stack([numbers(accounts["income"]), numbers(accounts["age"])], axis=1)
    sides = ends(drawn.now.edges, accounts["account"], "payer", "payee")
    degrees = np.stack([np.bincount(side, minlength=3000) for side in sides], axis=1)
    labels = np.array(accounts["fraud"])
    kept = labels != ""
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8)
    with threadpool_limits(1):
        with_graph, without = (
            cross_val_score(model, table[kept], labels[kept], cv=3).mean()
            for table in (np.hstack([plain, degrees]), plain)
        )
    assert with_graph > 0.97
    assert without < 0.95


def test_social_is_in_tags_and_neighbours() -> None:
    drawn = draw_preset("social")
    people = drawn.now.nodes
    labels = np.array(people["group"])
    kept = labels != ""
    assert missing(people["group"]) == pytest.approx(0.05, abs=1e-3)
    assert missing(people["birth_year"]) == pytest.approx(0.12, abs=0.015)
    assert set(people["active"]) == {"true", "false"}
    assert all(len(text) == len("2019-11-03 14:20") and text[10] == " " for text in people["joined"])
    assert set(drawn.now.edges["kind"]) == {"follows", "blocks"}
    source, target = ends(drawn.now.edges, people["person"], "from_person", "to_person")
    both = kept[source] & kept[target]
    assert (labels[source] == labels[target])[both].mean() == pytest.approx(0.1, abs=0.02)
    tags = CountVectorizer(token_pattern=r"[^;]+").fit_transform(people["interests"]).toarray()
    neighbours = np.zeros((labels.size, 4))
    classes = {name: number for number, name in enumerate(sorted(set(labels[kept])))}
    seen = np.flatnonzero(kept[target])
    np.add.at(neighbours, (source[seen], [classes[name] for name in labels[target[seen]]]), 1)
    model = LogisticRegression(max_iter=1000)
    scores = [
        cross_val_score(model, table[kept], labels[kept], cv=3).mean()
        for table in (tags, neighbours, np.hstack([tags, neighbours]))
    ]
    assert 0.5 < scores[0] < 0.75
    assert scores[1] > 0.5
    assert scores[2] > max(scores[:2]) + 0.03


def test_pages_are_in_the_text() -> None:
    drawn = draw_preset("pages")
    pages = drawn.now.nodes
    labels = np.array(pages["section"])
    kept = labels != ""
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=500))
    score = cross_val_score(model, np.array(pages["text"])[kept], labels[kept], cv=3).mean()
    assert 0.94 < score < 0.98
    assert all(isinstance(json.loads(tags), list) for tags in pages["tags"] if tags)
    assert [int(count) for count in pages["words"]] == [len(text.split()) for text in pages["text"]]
    source, target = ends(drawn.now.edges, pages["url"], "page", "links_to")
    both = kept[source] & kept[target]
    assert 0.4 < (labels[source] == labels[target])[both].mean() < 0.7


def test_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean fraud"):
        draw_preset("frauds")
    with pytest.raises(ConfigError, match="at least 100"):
        draw_preset("fraud", nodes=20)
    with pytest.raises(ConfigError, match="seed is -1"):
        draw_preset("fraud", seed=-1)
    with pytest.raises(ConfigError, match="name of a folder"):
        write_preset("fraud", tmp_path / "x.npz")


def test_synth_writes_a_preset_and_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "f"
    facts = document("synth", "--preset", "fraud", "--nodes", 150, "--seed", 3, "--out", out)
    assert (facts["nodes"], facts["edges"]) == (150, 600)
    command = (
        f"gpcn compare {out}/transfers.csv --nodes {out}/accounts.csv --source payer --target payee --id account "
        "--label fraud"
    )
    assert facts["compare"] == command
    answer = gpcn("synth", "--preset", "fraud", "--nodes", 150, "--seed", 3, "--out", out)
    assert command in answer.stdout
    assert f"gpcn predict RUN {out}/next/transfers.csv --nodes {out}/next/accounts.csv" in answer.stdout
    assert "--degree is not for the preset fraud" in refused("synth", "--preset", "fraud", "--degree", 3, "--out", out)
    assert "there is no preset 'x'" in refused("synth", "--preset", "x", "--out", out)
