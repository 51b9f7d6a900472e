from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpcn import ConfigError, TrainConfig
from gpcn.records.reading import encode


def test_settings_are_sorted_into_model_and_training() -> None:
    config = TrainConfig.of("gpcn", hidden="128", lr="0.05", seed=3)
    assert config["hidden"] == 128
    assert config["lr"] == 0.05
    assert config["layers"] == 2
    assert config.seed == 3
    assert TrainConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "gpnc"}, "did you mean gpcn"),
        ({"hiden": 3}, "did you mean hidden"),
        ({"weight_decai": 3}, "did you mean weight_decay"),
        ({"lr": -1}, "lr is -1"),
        ({"epochs": 1}, "epochs is 1"),
        ({"select": "test"}, "expected loss or metric"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.of(**settings)  # type: ignore[arg-type]


def test_a_file_holds_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('model = "agpcn"\nhidden = 32\nlr = 0.05\nseed = 5\n')
    config = TrainConfig.from_toml(path, {"lr": "0.1"})
    assert (config.model, config["hidden"], config["lr"], config.seed) == ("agpcn", 32, 0.1, 5)
    for text, message in (
        ("x = [1]", "flat settings"),
        ("= 3", "not a TOML file"),
        ('hidden = "many"', "hidden is 'many'"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            TrainConfig.from_toml(path)
    with pytest.raises(ConfigError, match="cannot read"):
        TrainConfig.from_toml(tmp_path / "nothing.toml")


def test_differences_are_named() -> None:
    assert TrainConfig.of("gpcn").differences(TrainConfig.of("gpcn", layers=4)) == ["layers was 2, now 4"]


def test_a_key_says_every_setting_by_its_name() -> None:
    config = TrainConfig.of("gpcn")
    assert TrainConfig.from_json(json.loads(config.canonical())) == config
    assert encode(config) == json.loads(config.canonical())
    others = {TrainConfig.of("gpcn", direction=direction).canonical() for direction in ("out", "in", "both")}
    assert len(others) == 3
    assert config.canonical() in others
    with pytest.raises(ConfigError, match="direction is 'up'; expected out or in or both"):
        TrainConfig.of("gpcn", direction="up")


@pytest.mark.parametrize("broken", [None, [], 3])
def test_a_stored_configuration_of_another_kind_is_refused(broken: object) -> None:
    with pytest.raises(ConfigError, match="incomplete"):
        TrainConfig.from_json(TrainConfig.of("gcn").to_json() | {"training": broken})
