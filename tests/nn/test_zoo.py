from __future__ import annotations

import inspect
import json

import pytest

from gpcn.core.errors import ConfigError
from gpcn.nn import zoo
from tests.commands import in_process

NAMES = (
    "gpcn gpcn-link agpcn agpcn-link generalized-gpcn multi-gpcn multi-gpcn-link deep-gpcn residual-gcn mlp gcn sgc "
    "gprgnn h2gcn mixhop link linkx gcnii appnp logistic label-propagation adagpr gode deep-gcn deep-sage trees"
)


def test_the_zoo_is_complete() -> None:
    assert zoo.names() == NAMES.split()
    assert zoo.names("gpcn")[:4] == ["gpcn", "gpcn-link", "agpcn", "agpcn-link"]


@pytest.mark.parametrize("name", zoo.names())
def test_every_hyperparameter_is_an_argument_of_the_model(name: str) -> None:
    entry = zoo.specification_of(name)
    taken: set[str] = set()
    for kind in entry.kind.__mro__:
        if "__init__" in vars(kind) and kind.__module__.startswith("gpcn"):
            taken |= set(inspect.signature(kind.__init__).parameters)
    for hyperparameter in entry.hyperparameters:
        assert hyperparameter.name == "hidden" or hyperparameter.name in taken, hyperparameter.name
        assert hyperparameter.check(hyperparameter.default) == hyperparameter.default
        assert all(hyperparameter.check(value) == value for value in hyperparameter.space)
        assert hyperparameter.about
    assert entry.formula
    assert entry.paper


def test_the_paper_grid_is_the_search_space() -> None:
    spaces = {setting.name: setting.space for setting in zoo.specification_of("gpcn").hyperparameters}
    assert spaces["hidden"] == (64, 512)
    assert spaces["layers"] == (1, 2, 4, 8)
    assert spaces["mlp_layers"] == (1, 2, 3, 4, 5)
    assert spaces["gamma"] == (256, 64, 16, 4, 1, 0.25, 0.0625, 0.015625)
    assert spaces["dropout"] == (0.0, 0.3, 0.6, 0.9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hiden": 3}, "gpcn has no hyperparameter 'hiden'; did you mean hidden?"),
        ({"zzz": 3}, "gpcn has no hyperparameter 'zzz'; it has hidden, layers"),
        ({"hidden": 0}, "hidden is 0; expected a whole number from 1"),
        ({"hidden": 2.5}, "hidden is 2.5; expected a whole number"),
        ({"hidden": "many"}, "hidden is 'many'; expected a whole number"),
        ({"dropout": 1.0}, "dropout is 1.0; expected a number from 0 to below 1"),
        ({"gamma": "nan"}, "gamma is 'nan'; expected a number"),
        ({"bias": "maybe"}, "bias is 'maybe'; expected true or false"),
        ({"order": "fastest"}, "order is 'fastest'; expected auto or collapsed or recursive"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        zoo.build("gpcn", in_channels=3, out_channels=2, num_nodes=5, **settings)


def test_texts_from_a_command_line_become_numbers() -> None:
    settled = zoo.specification_of("gpcn").settle({"hidden": "128", "gamma": "0.5", "bias": "false", "layers": 4.0})
    assert (settled["hidden"], settled["gamma"], settled["bias"], settled["layers"]) == (128, 0.5, False, 4)


def test_an_unknown_model_lists_near_matches() -> None:
    with pytest.raises(ConfigError, match="did you mean gprgnn"):
        zoo.specification_of("gprgn")


def test_the_command_lists_and_describes() -> None:
    def run(*words: str) -> str:
        answer = in_process("models", *words)
        assert answer.returncode == 0
        return answer.stdout

    assert [row["name"] for row in json.loads(run("--json"))] == zoo.names()
    described = json.loads(run("gpcn-link", "--json"))
    assert described["learns_a_vector_per_node"]
    assert {"name", "type", "default", "choices", "space", "about"} == described["hyperparameters"][0].keys()
    assert "label-propagation" in run()
    assert "residual scale" in run("gpcn")
