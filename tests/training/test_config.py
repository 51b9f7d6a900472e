from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpcn import ConfigError, TrainConfig
from gpcn.training.config import declared_settings, setting_names


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


OLD = (
    '{"hyperparameters": {"bias": false, "coefficients": "binomial", "dropout": 0.3, "dropout_mode": "collapsible", '
    '"gamma": 0.25, "hidden": 64, "layers": 2, "mlp_layers": 1, "order": "auto"}, "model": "gpcn", "seed": 0, '
    '"training": {"class_weights": false, "epochs": 500, "link_decay": -1.0, "lr": 0.01, "mu_lr": -1.0, '
    '"normalize_features": false, "patience": 100, "select": "loss", "symmetrize": false, "theta_decay": -1.0, '
    '"weight_decay": 0.001}}'
)
"""The canonical text of the defaults before `symmetrize` became `direction`; keys of runs and caches are made of it."""


def test_keys_of_old_configurations_stay() -> None:
    assert TrainConfig.of("gpcn").canonical() == OLD
    both = OLD.replace('"symmetrize": false', '"symmetrize": true')
    assert TrainConfig.of("gpcn", direction="both").canonical() == both
    assert TrainConfig.of("gpcn", symmetrize="true").canonical() == both
    for text in (OLD, both):
        assert TrainConfig.from_json(json.loads(text)).canonical() == text
    inward = TrainConfig.of("gpcn", direction="in").canonical()
    assert '"direction": "in"' in inward
    assert "symmetrize" not in inward


def test_a_former_name_is_translated_wherever_settings_come_from(tmp_path: Path) -> None:
    assert TrainConfig.of("gcn", symmetrize=True)["direction"] == "both"
    assert TrainConfig.of("gcn", symmetrize=False)["direction"] == "out"
    assert TrainConfig.of("gcn", symmetrize="true", direction="both")["direction"] == "both"
    assert TrainConfig.of("gcn", direction="both")["symmetrize"] is True
    assert TrainConfig.of("gcn")["symmetrize"] is False
    assert "symmetrize" not in TrainConfig.of("gcn", symmetrize=True).to_json()["training"]
    path = tmp_path / "c.toml"
    path.write_text("symmetrize = true\n")
    assert TrainConfig.from_toml(path)["direction"] == "both"
    assert TrainConfig.from_toml(path, {"direction": "in"})["direction"] == "in"
    with pytest.raises(ConfigError, match="symmetrize=true is the former name of direction=both, and direction is 'i"):
        TrainConfig.of("gcn", symmetrize=True, direction="in")
    with pytest.raises(ConfigError, match="symmetrize is 'maybe'; expected true or false"):
        TrainConfig.of("gcn", symmetrize="maybe")
    with pytest.raises(ConfigError, match="direction is 'up'; expected out or in or both"):
        TrainConfig.of("gcn", direction="up")


def test_a_former_name_is_among_those_a_model_takes() -> None:
    assert {"direction", "symmetrize", "hidden"} <= setting_names("gpcn")
    assert "symmetrize" not in declared_settings("gpcn")


@pytest.mark.parametrize("broken", [None, [], 3])
def test_a_stored_configuration_of_another_kind_is_refused(broken: object) -> None:
    with pytest.raises(ConfigError, match="incomplete"):
        TrainConfig.from_json(TrainConfig.of("gcn").to_json() | {"training": broken})
