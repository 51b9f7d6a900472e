"""Every file of a run cut off, flipped, swapped, edited or filled with something else: one sentence, never a wrong
number."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcn import CheckpointError, ConfigError, GpcnError, TrainConfig
from gpcn.records.reading import encode
from gpcn.records.sealed import SEAL
from gpcn.report.materials import gather_materials
from gpcn.report.sections import section_for
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.predictions.out_of_fold import predict_out_of_fold
from gpcn.runs.predictions.prediction import predict
from gpcn.runs.run import Run
from gpcn.runs.split_run import run_split
from gpcn.runs.training import train
from tests.damage import keys_of, replaced, sealed
from tests.graphs import named_graph
from tests.sealing import resealed

CONFIG = TrainConfig.of("gpcn-link", hidden=8, epochs=6)
BOUNDED = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


GRAPH = named_graph()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run"
    train(GRAPH, CONFIG, out=path, jobs=1)
    return path


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def answers(path: Path) -> tuple[Any, ...]:
    """All that is read of a run: scores, predictions kept and computed, histories."""
    opened = Run.open(path)
    result = opened.result()
    predictions = predict(opened, GRAPH)
    kept = predict_out_of_fold([opened], GRAPH)
    histories = [opened.split_file(number, "epochs.csv").read_bytes() for number in opened.finished()]
    probabilities = predictions.probabilities.tobytes(), kept.probabilities.tobytes()
    return json.dumps(encode(result)), predictions.node_ids, predictions.new_nodes, *probabilities, histories


def test_shuffled_deleted_and_foreign_node_ids_are_refused(run: Path, tmp_path: Path) -> None:
    file = run / "node_ids.npz"
    with np.load(file) as stored:
        arrays = dict(stored)
    shuffled = {key: value[::-1] if value.dtype == np.uint8 else value for key, value in arrays.items()}
    np.savez_compressed(file, **shuffled)
    with pytest.raises(CheckpointError, match="node_ids.npz does not have its checksum"):
        predict(Run.open(run), GRAPH)
    file.unlink()
    with pytest.raises(CheckpointError, match="node_ids.npz cannot be read"):
        predict(Run.open(run), GRAPH)


@pytest.mark.parametrize(
    ("changes", "things"),
    [
        ({"node_ids": [f"m{number}" for number in range(60)]}, "nodes"),
        ({"label_names": ["one", "two"]}, "classes"),
        ({"feature_names": [f"f{number}" for number in range(GRAPH.num_features)]}, "features"),
    ],
)
def test_a_graph_with_other_names_is_another_graph(run: Path, changes: Any, things: str) -> None:
    renamed = replace(GRAPH, **changes)
    assert renamed.fingerprint() == GRAPH.fingerprint()
    with pytest.raises(ConfigError, match=f"its {things} have other names; choose another out"):
        train(renamed, CONFIG, out=run, jobs=1)


def test_splits_of_a_graph_with_other_names_belong_to_another_run(run: Path, tmp_path: Path) -> None:
    train(replace(GRAPH, label_names=["x", "y"]), CONFIG, out=tmp_path / "other", jobs=1)
    shutil.rmtree(run / "split-00")
    shutil.copytree(tmp_path / "other" / "split-00", run / "split-00")
    with pytest.raises(CheckpointError, match="belongs to another run or graph"):
        Run.open(run).result()


@pytest.mark.parametrize("name", ["predictions.npz", "epochs.csv", "model.json", "result.json"])
def test_files_of_another_split_are_refused(run: Path, name: str) -> None:
    shutil.copy(run / "split-01" / name, run / "split-00" / name)
    with pytest.raises(CheckpointError, match="does not have its checksum|belongs to another run"):
        answers(run)


def test_an_edited_score_does_not_enter_the_mean(run: Path) -> None:
    file = run / "split-00" / "result.json"
    payload = json.loads(file.read_text())
    payload["result"]["test"] = 99.9
    file.write_text(json.dumps(payload))
    with pytest.raises(CheckpointError, match="result.json is damaged: it does not have its checksum") as caught:
        train(GRAPH, CONFIG, out=run, jobs=1)
    assert "delete" in str(caught.value)


def files_of(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")


@BOUNDED
@given(data=st.data())
def test_one_flipped_bit_or_a_cut_is_refused_or_changes_nothing(data: st.DataObject, whole: Path) -> None:
    expected = answers(whole)
    file = data.draw(st.sampled_from(files_of(whole)), "file")
    good = file.read_bytes()
    position = data.draw(st.integers(0, len(good) - 1), "position")
    bad = bytearray(good)
    bad[position] ^= 1 << data.draw(st.integers(0, 7), "bit")
    content = data.draw(st.sampled_from([bytes(bad), good[:position], b"", good + b"x"]), "content")
    try:
        file.write_bytes(content)
        try:
            result = answers(whole)
        except GpcnError as error:
            assert "\n" not in str(error)
        else:
            assert result == expected
    finally:
        file.write_bytes(good)


@BOUNDED
@given(data=st.data())
def test_any_two_files_swapped_are_refused_or_change_nothing(data: st.DataObject, whole: Path) -> None:
    expected = answers(whole)
    first, second = data.draw(st.lists(st.sampled_from(files_of(whole)), min_size=2, max_size=2, unique=True))
    contents = first.read_bytes(), second.read_bytes()
    try:
        first.write_bytes(contents[1])
        second.write_bytes(contents[0])
        try:
            result = answers(whole)
        except GpcnError as error:
            assert "\n" not in str(error)
        else:
            assert result == expected
    finally:
        first.write_bytes(contents[0])
        second.write_bytes(contents[1])


OTHER = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(10**400),
    st.sampled_from([float("nan"), float("inf"), -1.5, "", "x", "\ud800", [], {}, [[]], {"a": {}}, [1, 2], ["a"]]),
)


@settings(BOUNDED, max_examples=250)
@given(data=st.data())
def test_other_json_in_a_file_with_its_checksum_is_one_sentence(data: st.DataObject, whole: Path) -> None:
    file = data.draw(st.sampled_from([file for file in files_of(whole) if file.suffix == ".json"]), "file")
    good = file.read_bytes()
    payload = json.loads(good)
    payload.pop(SEAL, None)
    way = data.draw(st.sampled_from(keys_of(payload)), "way")
    value = data.draw(OTHER if not way else st.one_of(st.just(...), OTHER), "value")
    try:
        file.write_text(sealed(replaced(payload, way, value)))
        try:
            answers(whole)
            page_of(whole)
        except GpcnError as error:
            assert "\n" not in str(error)
    finally:
        file.write_bytes(good)


def page_of(path: Path) -> None:
    """All that a report shows of a run."""
    for material in gather_materials([str(path)]):
        section_for(material).section(material)


def test_a_model_that_does_not_fit_its_configuration_is_refused(run: Path) -> None:
    def other(payload: dict[str, Any]) -> None:
        payload["config"]["hyperparameters"]["hidden"] = 9

    resealed(run / "config.json", other)
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Fitted.of(Run.open(run), GRAPH).model(0)


@pytest.mark.parametrize(
    "change",
    [
        lambda payload: payload["graph"].update(classes=3),
        lambda payload: payload["graph"].update(label_names=["a"]),
        lambda payload: payload["graph"].update(metric="charm"),
        lambda payload: payload["graph"].update(preparation={"format": 77}),
        lambda payload: payload["config"].update(model="gpnc"),
        lambda payload: payload["config"]["training"].update(lr="fast"),
        lambda payload: payload.update(format=9),
        lambda payload: payload.update(format=True),
    ],
)
def test_config_that_makes_no_sense_is_one_sentence(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    resealed(run / "config.json", change)
    with pytest.raises(CheckpointError, match="config.json (is damaged|has format)"):
        Run.open(run)


@pytest.mark.parametrize("save_every", [0.0, 10.0])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_deleted_while_it_is_trained_ends_the_training_and_is_not_made_anew(
    jobs: int, save_every: float, tmp_path: Path
) -> None:
    path = tmp_path / "run"

    def take_away(progress: Any) -> None:
        if path.exists():
            path.rename(tmp_path / "bin")  # at once, whatever other processes write there

    with pytest.raises(CheckpointError, match=r"is gone: it was deleted or moved while it was worked on"):
        train(GRAPH, CONFIG, out=path, jobs=jobs, save_every=save_every, progress=take_away)
    assert not path.exists()


def test_a_run_deleted_between_two_splits_is_not_made_anew(run: Path) -> None:
    shutil.rmtree(run)
    with pytest.raises(CheckpointError, match="run is gone"):
        run_split(GRAPH, CONFIG, 1, run / "split-01")
    assert not run.exists()
