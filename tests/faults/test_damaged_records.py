"""Every value in every sealed document changed, its checksum computed again: one sentence, never a raw error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gpcn
from gpcn import CheckpointError, GpcnError, TrainConfig, load, open_run, save
from gpcn.data.graph_record import GraphSource
from gpcn.data.parts.manifest import Manifest, part_folder
from gpcn.distributed.sharding.shards import shard
from gpcn.records.sealed import file_digest
from gpcn.report.materials import gather_materials
from gpcn.report.sections import section_for
from gpcn.runs.model_comparison import train_models
from gpcn.runs.training import train
from gpcn.search.auto import auto
from gpcn.search.auto.portfolio import Entry
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from tests.damage import damaged_texts
from tests.graphs import named_graph
from tests.sealing import resealed

GRAPH = named_graph(24)
CONFIG = TrainConfig.of("gpcn", hidden=2, epochs=2)


def make_run(folder: Path) -> None:
    train(GRAPH, CONFIG, out=folder, splits=[0], source=GraphSource.of(folder.parent / "graph.npz"))


def make_choice(folder: Path) -> None:
    portfolio = (Entry("logistic", "logistic", {"epochs": 3}), Entry("link", "link", {"epochs": 3}))
    source = GraphSource.of(folder.parent / "graph.npz")
    auto(
        GRAPH,
        serial_executor(GRAPH),
        out=folder,
        budget=Budget(seconds=3),
        splits=[0],
        portfolio=portfolio,
        source=source,
    )


def make_comparison(folder: Path) -> None:
    source = GraphSource.of(folder.parent / "graph.npz")
    train_models(GRAPH, ["mlp", "sgc"], {"epochs": 2}, out=folder, splits=[0], source=source)


def make_study(folder: Path) -> None:
    pytest.importorskip("optuna")
    from gpcn.search.schedule import Plan
    from gpcn.search.space import Space
    from gpcn.search.study import tune

    plan, source = Plan.of([0], 3, size=2), GraphSource.of(folder.parent / "graph.npz")
    budget = Budget(configurations=2)
    tune(GRAPH, Space.of(["sgc"]), plan, serial_executor(GRAPH), out=folder, budget=budget, source=source)


def make_parts(folder: Path) -> None:
    shard(GRAPH, folder, 2)


MADE: dict[str, Callable[[Path], None]] = {
    "run": make_run,
    "choice": make_choice,
    "comparison": make_comparison,
    "study": make_study,
    "parts": make_parts,
}
DOCUMENTS = (
    "run/config.json",
    "run/split-00/model.json",
    "run/split-00/result.json",
    "choice/auto.json",
    "comparison/mlp/split-00/result.json",
    "study/study.json",
    "parts/manifest.json",
    "parts/part-0000/part.json",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind, beside their graph."""
    project = tmp_path_factory.mktemp("made")
    save(GRAPH, project / "graph.npz")
    for name, make in MADE.items():
        make(project / name)
    shutil.rmtree(project / "choice" / "candidates")  # which only the same auto command reads
    return project


def read(folder: Path) -> None:
    """All that is read of a folder: scores, predictions, the materials of its report."""
    if folder.name == "parts":
        assert load(folder, require_labels=False).num_nodes
        return
    opened = open_run(folder, graph=GRAPH)
    opened.evaluate()
    repr(opened)
    if opened.kind != "study":
        opened.predict()
    for material in gather_materials([str(folder)]):
        section_for(material).section(material)


def failures(file: Path, folder: Path) -> Iterator[str]:
    """What a raw error says, for each way to damage a file that leads to one."""
    whole = file.read_text()
    try:
        for what, text in damaged_texts(whole):
            file.write_text(text)
            try:
                read(folder)
            except GpcnError as error:
                if "\n" in str(error):
                    yield f"{what}: {error}"
            except Exception as error:
                yield f"{what}: {error!r:.200}"
    finally:
        file.write_text(whole)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_damage_to_a_sealed_document_is_a_raw_error(document: str, made: Path) -> None:
    file, folder = made / document, made / Path(document).parts[0]
    read(folder)
    assert list(failures(file, folder)) == []


def test_an_edited_choice_of_auto_is_refused(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made / "choice", tmp_path / "choice"))
    payload = json.loads((folder / "auto.json").read_text())
    (folder / "auto.json").write_text(json.dumps(payload | {"test_mean": 99.99}))
    with pytest.raises(
        CheckpointError, match=r"auto.json is damaged: it does not have its checksum, so it was altered"
    ):
        gpcn.open_run(folder)
    payload.pop("checksum"), payload.pop("format")
    (folder / "auto.json").write_text(json.dumps(payload))
    with pytest.raises(CheckpointError, match=r"auto.json is damaged: format is missing; run gpcn auto again"):
        gpcn.open_run(folder)


def without(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([column])


def as_text(column: str) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(column), column, pa.array(["x"] * table.num_rows))

    return changed


def emptied(column: str) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        kind = table.schema.field(column).type
        return table.set_column(table.column_names.index(column), column, pa.nulls(table.num_rows, kind))

    return changed


@pytest.mark.parametrize("change", [without, as_text, emptied])
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("nodes", "label"),
        ("nodes", "id"),
        ("nodes", "split_0"),
        ("features", "features"),
        ("links-out", "node"),
        ("links-out", "neighbour"),
        ("links-out", "weight"),
    ],
)
def test_a_part_without_a_column_or_with_another_in_its_place_is_one_sentence(
    name: str, column: str, change: Callable[[str], Callable[[pa.Table], pa.Table]], made: Path, tmp_path: Path
) -> None:
    parts = Path(shutil.copytree(made / "parts", tmp_path / "parts"))
    file = part_folder(parts, 0) / f"{name}.parquet"
    pq.write_table(change(column)(pq.read_table(file)), file)
    resealed(parts / "manifest.json", lambda payload: payload["parts"][0].update({file.name: file_digest(file)}))
    assert Manifest.read(parts).parts == 2
    with pytest.raises(GpcnError) as caught:
        load(parts)
    assert "\n" not in str(caught.value)
    assert "part" in str(caught.value)
