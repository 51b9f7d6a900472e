"""A net for the faults that nobody thought of: generated inputs, of which each ends in a result or in one sentence.

Bounded and seeded, so that the suite does the same every time; `make fuzz` looks further (tests/fuzz).
"""

from __future__ import annotations

import io
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcn import GpcnError, Graph, TrainConfig, load, save, synthesize
from gpcn.core import machine_memory as memory
from gpcn.data.archives import read_npz
from gpcn.data.tables.columns_file import read_columns_file
from gpcn.nn import zoo
from gpcn.runs.training import train
from gpcn.training.config import declared_settings
from tests.graphs import make_graph

BOUNDED = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WORDS = (
    *("", " ", "a", "b", "c", "0", "1", "-1", "1.0", "1e308", "1e-320", "nan", "NaN", "inf", "-inf", "null", "None"),
    *("2024-01-01", "31.12.1999", "99999-99-99", "1,5", "1;2;3", "[1, 2]", '{"a": 1}', "true", "=1+1", "\x1b[31m", "￿"),
    *("é", "\u202e", "source", "id", "label", "train", "test", "val", "x" * 300, "9" * 400, "'", '"', "#", "%", "\t"),
)
cells = st.sampled_from(WORDS) | st.text(max_size=8)
names = st.sampled_from(("source", "target", "id", "label", "weight", "type", "split", "x", "", "Unnamed: 0", "a.b"))


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell


@st.composite
def csv_text(draw: st.DrawFn) -> bytes:
    """A table, mostly rectangular, of cells that somebody meant to be difficult."""
    columns = draw(st.lists(names, min_size=1, max_size=5))
    rows = draw(st.lists(st.lists(cells, min_size=len(columns), max_size=len(columns)), max_size=6))
    ragged = draw(st.booleans()) and draw(st.booleans())
    lines = [columns, *rows, *([["only one"]] if ragged else [])]
    end = draw(st.sampled_from(("\n", "\r\n", "\r")))
    text = end.join(draw(st.sampled_from((",", ",", ";", "\t"))).join(map(quoted, line)) for line in lines)
    return text.encode("utf-8", "surrogatepass") + draw(st.sampled_from((b"", b"\n", b"\0", b"\xff", b'"')))


def sentence_or_graph(read: object, *given: object, **more: object) -> Graph | None:
    """What a reader gives, or nothing where it refused with a sentence; any other exception fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(*given, **more)  # type: ignore[operator,no-any-return]
        except GpcnError as error:
            assert str(error).strip()
            return None


@BOUNDED
@given(edges=csv_text(), nodes=csv_text() | st.none(), ending=st.sampled_from((".csv", ".tsv", ".edges")))
def test_any_tables_are_a_graph_that_can_be_saved_or_a_sentence(
    tmp_path: Path, edges: bytes, nodes: bytes | None, ending: str
) -> None:
    source, table = tmp_path / f"e{ending}", tmp_path / "n.csv"
    source.write_bytes(edges)
    if nodes is not None:
        table.write_bytes(nodes)
    graph = sentence_or_graph(load, source, nodes=None if nodes is None else table, require_labels=False)
    if graph is not None:
        save(graph, tmp_path / "g.npz")
        assert load(tmp_path / "g.npz", require_labels=False).equals(graph)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | cells,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(cells, inner, max_size=3),
    max_leaves=6,
)


@BOUNDED
@given(edges=st.lists(st.dictionaries(names, values, max_size=4), max_size=4), nodes=st.lists(values, max_size=4))
def test_json_lines(tmp_path: Path, edges: list[object], nodes: list[object]) -> None:
    for name, rows in (("e.jsonl", edges), ("n.jsonl", nodes)):
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    sentence_or_graph(load, tmp_path / "e.jsonl", nodes=tmp_path / "n.jsonl", require_labels=False)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("archives")
    save(make_graph(node_ids=list("abcdef"), label_names=["no", "yes"], weights=np.arange(1, 7)), folder / "g.npz")
    plain = io.BytesIO()
    np.savez_compressed(
        plain, edges=np.array([[0, 1], [1, 2]]), node_features=np.eye(3), node_labels=np.array([0, 1, 0])
    )
    return [(folder / "g.npz").read_bytes(), plain.getvalue()]


@BOUNDED
@given(data=st.data())
def test_archives_with_damaged_bytes_are_a_graph_or_a_sentence(
    tmp_path: Path, archives: list[bytes], data: st.DataObject
) -> None:
    """Cut off, flipped, spliced."""
    content = bytearray(data.draw(st.sampled_from(archives)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        deed = data.draw(st.sampled_from(("flip", "set", "cut", "double", "insert")))
        if deed == "flip" and content:
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        elif deed == "set" and content:
            content[at] = data.draw(st.sampled_from((0, 1, 127, 128, 255)))
        elif deed == "cut":
            del content[at:]
        elif deed == "double":
            content += content[at:]
        else:
            content[at:at] = data.draw(st.binary(max_size=8))
    (tmp_path / "g.npz").write_bytes(content)
    sentence_or_graph(load, tmp_path / "g.npz", require_labels=False)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    shape = draw(st.lists(st.integers(0, 7), max_size=3))
    kind = draw(st.sampled_from(("i1", "u1", "i4", "i8", "u8", "f4", "f8", "c8", "?", "U3", "S2", "M8[D]", "m8[s]")))
    fill = draw(st.sampled_from((0, 1, 2, 5, 127)))
    return np.full(shape, fill).astype("i8").astype(kind)


@BOUNDED
@given(data=st.data())
def test_archives_with_other_members_are_a_finite_graph_or_a_sentence(
    tmp_path: Path, archives: list[bytes], data: st.DataObject
) -> None:
    """One array replaced by another, taken away, or under another's name."""
    members = read_npz(data.draw(st.sampled_from(archives)), "seed")
    key = data.draw(st.sampled_from(sorted(members)))
    deed = data.draw(st.sampled_from(("replace", "remove", "swap", "reshape", "huge")))
    if deed == "replace":
        members[key] = data.draw(arrays())
    elif deed == "remove":
        del members[key]
    elif deed == "swap":
        other = data.draw(st.sampled_from(sorted(members)))
        members[key], members[other] = members[other], members[key]
    elif deed == "reshape":
        members[key] = members[key].reshape(-1)[: data.draw(st.integers(0, 9))]
    elif members[key].dtype.kind in "iuf" and members[key].size:
        limits = np.iinfo(members[key].dtype) if members[key].dtype.kind in "iu" else np.finfo(members[key].dtype)
        members[key] = members[key].copy()
        members[key].flat[0] = data.draw(st.sampled_from((limits.max, limits.min)))
    np.savez(tmp_path / "g.npz", **members)
    graph = sentence_or_graph(load, tmp_path / "g.npz", require_labels=False)
    if graph is not None:
        assert math.isfinite(float(graph.adjacency.sum()))


toml_values = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS).filter(lambda word: word.isprintable() and "\\" not in word)
    | st.lists(st.integers(0, 3), max_size=2)
)
ALL_SETTINGS = sorted({name for model in zoo.names() for name in declared_settings(model)})
toml_names = st.sampled_from((*ALL_SETTINGS, "model", "seed", "cls", "self", "source", "label", "numeric", "scale"))


def toml(document: dict[str, object]) -> str:
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in document.items())


@BOUNDED
@given(document=st.dictionaries(toml_names, toml_values, max_size=4), noise=st.binary(max_size=4))
def test_any_settings_file_is_read_or_a_sentence(tmp_path: Path, document: dict[str, object], noise: bytes) -> None:
    (tmp_path / "c.toml").write_bytes(toml(document).encode() + noise)
    sentence_or_graph(TrainConfig.from_toml, tmp_path / "c.toml")
    sentence_or_graph(read_columns_file, tmp_path / "c.toml")


EXTREMES = (
    0,
    1,
    2,
    -1,
    0.5,
    1.0,
    -0.0,
    1e-300,
    1e300,
    -1e300,
    math.nan,
    math.inf,
    2**31,
    2**63,
    10**400,
    "",
    "x",
    "1e3",
)


@st.composite
def one_extreme_setting(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    model = draw(st.sampled_from(zoo.names()))
    setting = draw(st.sampled_from(list(declared_settings(model).values())))
    bounds = [bound for bound in (setting.low, setting.high, setting.below) if bound is not None]
    value = draw(st.sampled_from((*EXTREMES, *bounds, *setting.choices, True, None)))
    return model, {setting.name: value, **({} if setting.name == "epochs" else {"epochs": 2})}


@pytest.fixture(scope="module")
def small_graph() -> Graph:
    return synthesize(nodes=24, degree=3, classes=2, features=3, splits=1)


@BOUNDED
@given(chosen=one_extreme_setting())
def test_extreme_settings_are_trained_or_a_sentence(
    small_graph: Graph, monkeypatch: pytest.MonkeyPatch, chosen: tuple[str, dict[str, object]]
) -> None:
    """Trained, or refused in a sentence: as a value, for want of memory, or because the loss is no number."""
    model, changes = chosen
    monkeypatch.setenv(memory.VARIABLE, "200M")
    config = sentence_or_graph(TrainConfig.of, model, **changes)
    if config is None or int(config["epochs"]) > 1000:  # type: ignore[index]
        return
    result = sentence_or_graph(train, small_graph, config, jobs=1)
    if result is not None:
        assert result.test_mean is not None  # type: ignore[index]
