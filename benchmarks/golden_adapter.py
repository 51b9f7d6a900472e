"""THE ADAPTER of the golden results: everything they ask that only the inside of the package tells.

`golden.py` runs it beside the sources of one tree (`golden_adapter.py keys|draws|proposals|estimators GRAPH`), and it
writes JSON and .npz files into the current folder. The names imported here may move; the names and the meaning of what
is written may not: a commit that moves the first adapts this file, and nothing else of the golden results.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gpcn
from gpcn.data.split_plan import SplitPlan, default_split_plan
from gpcn.nn import zoo
from gpcn.paper.evaluations import Evaluations, Question
from gpcn.paper.measurements.reproduction import recipe_cells
from gpcn.paper.reference import recipes
from gpcn.paper.searches.recipe_search import find_recipes
from gpcn.runs.split_run import split_key
from gpcn.search.auto.config_neighbours import neighbouring_config
from gpcn.search.auto.holdouts import search_stages
from gpcn.search.auto.portfolio import default_portfolio
from gpcn.search.budget import Budget
from gpcn.search.ledger import Ledger
from gpcn.search.schedule import Plan
from gpcn.search.space import Space, models_of
from gpcn.search.study import drive_study
from gpcn.search.study_header import study_header
from gpcn.training.config import TrainConfig
from gpcn.training.probe import validation_halves
from gpcn.training.settle import settle

ROOT = Path(gpcn.__file__).resolve().parents[2]
FOUND = Path(recipes.__file__).parent / "found.json"
RESULTS = ROOT / "results"
SMALL = ("texas", "cornell", "wisconsin")  # datasets whose graphs are loaded for the keys of their evaluations
IDENTIFYING = (
    "preset", "dataset", "method", "model", "title", "recipe", "setting", "value", "layers", "gamma", "mu", "settings",
    "split", "budget", "seed",
)  # fmt: skip
SEEDS = (0, 1, 7)


def keys(graph: gpcn.Graph) -> None:
    """Texts and digests by which configurations, evaluations, splits of runs, studies and rows are recognised."""
    configs = {model: TrainConfig.of(model) for model in zoo.names()}
    changed = {model: TrainConfig.of(model, seed=3, direction="both", lr=0.02) for model in zoo.names()}
    suited = {model: settle(TrainConfig.of(model), graph) for model in zoo.names()}
    _write(
        "configurations",
        {name: _canonical(group) for name, group in [("defaults", configs), ("changed", changed), ("suited", suited)]},
    )
    _write("splits-of-runs", {model: split_key(config, graph.fingerprint(), 1) for model, config in configs.items()})
    found = {
        f"{row['model']} {row['dataset']} {row['origin']}": recipes.recipe(row["model"], row["dataset"], row["origin"])
        for row in json.loads(FOUND.read_text())
    }
    _write("found", _canonical({name: recipe.config() for name, recipe in found.items() if recipe is not None}))
    _write(
        "evaluations",
        {
            f"{cell.dataset} {cell.method} {cell.recipe.origin} {kind}": Question(
                cell.dataset, cell.recipe.config(), 1, kind
            ).key()
            for cell in recipe_cells(SMALL, zoo.names())
            for kind in ("train", "probe")
        },
    )
    for file in sorted(RESULTS.glob("*.csv")):
        with file.open(newline="") as stream:
            _write(f"results-{file.stem}", [_identity(row) for row in csv.DictReader(stream)])


def _identity(row: Mapping[str, str]) -> str:
    """What tells a committed row from the others, with its settings as the configuration that they make."""
    identity = {name: row[name] for name in IDENTIFYING if row.get(name)}
    if "settings" in identity:
        settings = json.loads(identity["settings"])
        identity["settings"] = TrainConfig.of(row.get("method") or row["model"], **settings).canonical()
    return json.dumps(identity)


def draws(graph: gpcn.Graph) -> None:
    """The nodes of splits: random, folds, groups, time; halves of validation nodes; what `auto` holds out."""
    kept: dict[str, Any] = {}
    for name, whole in (("ring", graph), ("texas", gpcn.load("texas"))):
        rng = np.random.default_rng(5)
        groups = [str(number) if number else "" for number in rng.integers(0, 25, whole.num_nodes)]
        times = np.where(rng.random(whole.num_nodes) < 0.1, np.nan, rng.integers(0, 40, whole.num_nodes))
        for seed in SEEDS:
            unstratified = gpcn.random_splits(whole, count=2, seed=seed, stratified=False)
            drawn = {
                "random": SplitPlan(count=3, train=0.6, val=0.2, seed=seed).make(whole).splits,
                "unstratified": unstratified.splits,
                "folds": SplitPlan(folds=4, seed=seed).make(whole).splits,
                "groups": SplitPlan(group="team", count=2, seed=seed).make(whole, groups=groups).splits,
                "time": SplitPlan(by="day").make(whole, times=times).splits,
                "default": default_split_plan(replace(whole, splits=()), seed).make(whole).splits,
            }
            for splits in (whole.splits, whole.splits[:1]):
                for stage, judged in enumerate(search_stages(whole, range(len(splits)), 100, seed)):
                    for holdout in judged.holdouts:
                        drawn[f"auto.{len(splits)}.{stage}.{holdout.name}"] = holdout.splits
            for way, splits in drawn.items():
                for number, split in enumerate(splits):
                    for role in ("train", "val", "test"):
                        kept[f"{name}.{seed}.{way}.{number}.{role}"] = getattr(split, role)
        for number, split in enumerate(whole.splits):
            halves = validation_halves(whole.with_metric("accuracy"), split.val, number)
            kept |= {f"{name}.halves.{number}.{side}": half for side, half in enumerate(halves)}
    np.savez("draws.npz", **kept)


def proposals(graph: gpcn.Graph) -> None:
    """What searches try, in order, where a formula stands in for every training."""
    for models, kind in (("family", "default"), ("family", "paper"), ("all", "default"), ("trees", "default")):
        for seed in SEEDS[:2]:
            space = Space.of(models_of(models), kind, fixed={"epochs": 30}, directed=graph.directed)
            _write(f"study-{models}-{kind}-{seed}", _study(graph, space, seed))
            _write(
                f"shuffled-{models}-{kind}-{seed}",
                [space.config(point).canonical() for point, _ in zip(space.shuffled(seed), range(30), strict=False)],
            )
    for name, whole in (
        ("ring", graph),
        ("texas", gpcn.load("texas")),
        ("featureless", replace(graph, features=graph.features[:, :0], feature_names=None)),
    ):
        entries = [entry for entry in default_portfolio() if entry.fits(whole)]
        _write(f"portfolio-{name}", [[entry.title, entry.config(whole, 0).canonical()] for entry in entries])
        _write(
            f"neighbours-{name}", {entry.title: list(_neighbours(whole, entry.config(whole, 0))) for entry in entries}
        )
    for model in (*zoo.FAMILY, "gcn", "gprgnn", "mlp", "multi-gpcn"):
        pretended = Pretended()
        chosen = find_recipes(model, "texas", pretended)
        asked = [f"{question.split} {question.config.canonical()}" for question in pretended.questions]
        _write(f"recipes-{model}", {"asked": asked, "chosen": [recipe.config().canonical() for recipe in chosen]})


def _study(graph: gpcn.Graph, space: Space, seed: int) -> Any:
    """All trials of a study with their evaluations and ends, and its name in a storage."""
    plan = Plan.of((0, 1), 30, size=6)
    first = [space.point(space.models[-1], {})]
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder), study_header(graph, space, plan, seed=seed, source=None, first=first))
        drive_study(ledger, Formula(), Budget(configurations=18))
        trials = [
            [trial.config.canonical(), sorted(trial.outcomes), trial.state, trial.value] for trial in ledger.trials
        ]
        return {"name": ledger.header.name, "trials": trials}


def _formula(config: TrainConfig) -> float:
    return 50 + 100 * float(config["lr"]) - 1000 * float(config["weight_decay"])


class Formula:
    """An executor that trains nothing."""

    workers = 1

    def run(self, tasks: Iterable[Any], until: float = 0.0) -> Iterator[tuple[Any, dict[str, Any]]]:
        for task in tasks:
            score = _formula(task.config) - task.split
            scores = {"loss": score, "metric": score + (1 if task.config["direction"] == "both" else -1)}
            yield task, {**scores, "test": scores, "epochs": int(task.config["epochs"]), "seconds": 0.0}

    def close(self) -> None:
        pass


class Pretended(Evaluations):
    """Evaluations that train nothing and keep the questions."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"), 1)
        self.questions: list[Question] = []

    def answer(self, questions: Iterable[Question], progress: Any = None) -> list[dict[str, Any]]:
        asked = list(questions)
        self.questions += asked
        scaled = [1 if question.config["normalize_features"] else -1 for question in asked]
        scores = [_formula(question.config) for question in asked]
        return [{"loss": score, "metric": score + more} for score, more in zip(scores, scaled, strict=True)]


def _neighbours(graph: gpcn.Graph, config: TrainConfig) -> Iterator[str]:
    """A walk of local search: each configuration starts from the one before."""
    tried = {config.canonical()}
    for step in range(6):
        found = neighbouring_config(graph, config, tried, np.random.default_rng([0, step]))
        if found is None:
            return
        config = found
        tried.add(config.canonical())
        yield config.canonical()


def estimators(graph: gpcn.Graph) -> None:
    """Probabilities of three fits: positions in a graph, features with links (then other rows), rows alone."""
    texas = gpcn.load("texas")
    nodes = np.flatnonzero(np.arange(texas.num_nodes) % 3)
    in_graph = gpcn.GPCNClassifier(graph=texas, epochs=15).fit(nodes, texas.labels[nodes])
    hidden = np.where(np.arange(graph.num_nodes) % 4 == 0, -1, graph.labels)
    features = np.asarray(graph.features.todense() if hasattr(graph.features, "todense") else graph.features)
    half = slice(0, graph.num_nodes // 2)
    linked = gpcn.GPCNClassifier("gpcn-link", epochs=15, random_state=2).fit(
        features, hidden, adjacency=graph.adjacency
    )
    words = np.array(["one", "two", "three", "four"])[graph.labels[graph.labelled]]
    rows = gpcn.GPCNClassifier("mlp", epochs=15, settings={"class_weights": True}).fit(features[graph.labelled], words)
    np.savez(
        "probabilities.npz",
        in_graph=in_graph.predict_proba(np.arange(texas.num_nodes)),
        linked=linked.predict_proba(features),
        other_rows=gpcn.GPCNClassifier("gpcn", epochs=15)
        .fit(features, hidden, adjacency=graph.adjacency)
        .predict_proba(features[half], adjacency=graph.adjacency[half, half]),
        rows=rows.predict_proba(features),
        predicted=rows.predict(features),
    )


def _canonical(configs: Mapping[str, TrainConfig]) -> dict[str, str]:
    return {name: config.canonical() for name, config in configs.items()}


def _write(name: str, document: Any) -> None:
    Path(f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    {"keys": keys, "draws": draws, "proposals": proposals, "estimators": estimators}[sys.argv[1]](
        gpcn.load(sys.argv[2])
    )
