"""The base install runs the commands of a newcomer; what needs more says so in one sentence that names the extra."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gpcn import ConfigError, Graph, load, open_run, save, to_networkx, to_pyg
from gpcn.core import extras
from gpcn.distributed.sharding.shards import shard
from gpcn.distributed.sharding.table_database import TableDatabase
from gpcn.nn.baselines import GODE
from tests.commands import in_process

GRAPH_OPTIONS = {"nodes": 40, "splits": 1}

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTION_OF = {"torch_geometric": "torch-geometric", "ray.train": "ray"}


@pytest.mark.parametrize("library", extras.EXTRA_OF)
def test_the_extra_that_is_named_brings_the_library_and_the_base_install_does_not(library: str) -> None:
    declared = [Requirement(text).name for text in PROJECT["optional-dependencies"][extras.EXTRA_OF[library]]]
    distribution = DISTRIBUTION_OF.get(library, library)
    assert distribution in declared
    assert distribution not in [Requirement(text).name for text in PROJECT["dependencies"]]


def test_those_who_develop_have_every_extra_of_the_package() -> None:
    listed = Requirement(PROJECT["optional-dependencies"]["dev"][0])
    assert listed.name == "gpcn"
    assert set(extras.EXTRA_OF.values()) | {"postgres"} <= listed.extras <= PROJECT["optional-dependencies"].keys()


def read_graphml(graph: Graph, folder: Path) -> None:
    (folder / "graph.graphml").write_text("<graphml/>")
    load(folder / "graph.graphml")


FUNCTIONS: dict[str, tuple[str, Callable[[Graph, Path], object]]] = {
    "to_pyg": ("torch_geometric", lambda graph, folder: to_pyg(graph)),
    "to_networkx": ("networkx", lambda graph, folder: to_networkx(graph)),
    "reading GraphML": ("networkx", read_graphml),
    "solver=rk4": ("torchdiffeq", lambda graph, folder: GODE(4, 4, 2, solver="rk4")),
    "cutting tables into parts": ("duckdb", lambda graph, folder: TableDatabase(folder / "tables.db", "1GB")),
}


@pytest.mark.parametrize("purpose", FUNCTIONS)
def test_a_function_without_its_library_names_the_extra(
    purpose: str, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, call = FUNCTIONS[purpose]
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError) as raised:
        call(graph, tmp_path)
    assert str(raised.value) == sentence(purpose, library)


def sentence(purpose: str, library: str) -> str:
    return f"{purpose} needs {library}; install it with: pip install 'gpcn[{extras.EXTRA_OF[library]}]'"


COMMANDS = {
    "gpcn tune": ("optuna", ("tune", "graph.npz", "--out", "study")),
    "the study in study": ("optuna", ("report", "study", "--out", "report.html")),
    "--engine ray": ("ray.train", ("train", "parts", "--engine", "ray", "--out", "run")),
    "--order metis": ("pymetis", ("shard", "graph.npz", "--parts", 2, "--order", "metis", "--out", "ordered")),
    "drawing a figure": ("matplotlib", ("spectrum", "graph.npz", "--figure", "spectrum.svg")),
}


@pytest.mark.parametrize("purpose", COMMANDS)
def test_a_command_without_its_library_names_the_extra(
    purpose: str, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, words = COMMANDS[purpose]
    save(graph, tmp_path / "graph.npz")
    shard(graph, tmp_path / "parts", 2)
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.json").write_text("{}")
    monkeypatch.setitem(sys.modules, library, None)
    answer = in_process(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr == f"error: {sentence(purpose, library)}\n"


def test_a_study_opened_without_optuna_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"the study in .* needs optuna; .*'gpcn\[search\]'"):
        open_run(tmp_path).models  # noqa: B018


NEWCOMER = (
    "--help",
    "synth --preset fraud --nodes 300 --out tables",
    "inspect tables/transfers.csv --nodes tables/accounts.csv --label fraud --id account --source payer --target payee",
    "synth --nodes 60 --splits 2 --out graph.npz",
    "train graph.npz --model gpcn --set epochs=3 --jobs 1 --out run",
    "compare graph.npz --models mlp,trees,gpcn --set epochs=3 --jobs 1 --out runs",
    "auto graph.npz --budget 5s --jobs 1 --out best",
    "predict best --out predictions.csv",
    "explain run --node 1",
    "report runs best --out report.html",
    "models gpcn",
    "datasets",
    "bound run",
    "convert graph.npz --out folder",
)
LEAN = """
import shlex, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name}}", name=name)
sys.meta_path.insert(0, Missing())
from gpcn.cli import main
for line in {lines!r}:
    sys.argv = ["gpcn", *shlex.split(line)]
    try:
        main()
    except SystemExit as ended:
        sys.exit(f"{{line}} ended with {{ended.code}}")
"""


def test_a_newcomers_commands_need_no_extra(tmp_path: Path) -> None:
    """In a process in which no library of an extra, and no plotly, pandas or Polars can be imported."""
    missing = [*extras.EXTRA_OF, "sqlalchemy", "plotly", "pandas", "polars", "psycopg"]
    program = LEAN.format(missing=missing, lines=NEWCOMER)
    answer = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "Content-Security-Policy" in (tmp_path / "report.html").read_text()
