"""Finding recipes on validation nodes alone: `gpcn reproduce recipes`.

The GPCN family has a search of its own (`family_search`), the baselines another (`baseline_search`). Everything is
scored by `training.probe`, so both rules for the best epoch are judged by one training. The draws depend on model and
dataset alone, so a search that was interrupted asks the same questions again and finds their answers on disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError
from gpcn.data.benchmarks import catalog
from gpcn.data.benchmarks.loading import is_available
from gpcn.nn.zoo import FAMILY
from gpcn.paper.evaluations import Evaluations, Progress, load_once
from gpcn.paper.reference.published import DATASETS
from gpcn.paper.reference.recipes import Recipe
from gpcn.paper.rows import Row
from gpcn.paper.searches.baseline_search import baseline_search_plan, search_baseline
from gpcn.paper.searches.family_search import FamilySearch
from gpcn.paper.searches.plans import Settings, family_search_plan
from gpcn.paper.searches.scoring import Scored, Scorer

LENGTH: Settings = {"epochs": 300, "patience": 60}  # of the trainings that follow, as for the finalists


def find_all_recipes(
    datasets: Iterable[str],
    models: Sequence[str],
    path: Path,
    *,
    evaluations: Evaluations,
    progress: Progress | None = None,
) -> list[Row]:
    """Find the recipes of all models on all datasets, and keep them in `path` beside those there.

    What is returned says also which datasets are not at hand.
    """
    kept = {_key(row): row for row in _read(path)}
    new = []
    for dataset in datasets:
        if not is_available(catalog.entry(dataset)):
            why = "not available: its files are not here"
            new += [asdict(Recipe(model, dataset, "ours", {}, why)) for model in models]
            continue
        for model in models:
            for recipe in find_recipes(model, dataset, evaluations, progress):
                row = asdict(recipe)
                new.append(row)
                kept[_key(row)] = row
            lines = ",\n".join(json.dumps(kept[key]) for key in sorted(kept))
            with replacing(path) as stream:
                stream.write(f"[\n{lines}\n]\n".encode())
    return new


def _read(path: Path) -> list[Row]:
    try:
        recipes = json.loads(path.read_bytes())
        return [row for row in recipes if _key(row)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path} is not a list of recipes; move it away to write a new one") from error


def _key(row: Row) -> tuple[str, ...]:
    return row["dataset"], row["model"], row["origin"]


def find_recipes(model: str, dataset: str, evaluations: Evaluations, progress: Progress | None = None) -> list[Recipe]:
    """The recipes for `model` on `dataset`: ours, and for the family what the paper leaves open."""
    if model in FAMILY and dataset in DATASETS:
        return _find_family(model, dataset, evaluations, progress)
    graph = load_once(dataset)
    plan = baseline_search_plan(model, dataset, graph.num_nodes)
    plan = replace(plan, decisive=tuple(split for split in plan.decisive if split < len(graph.splits)))
    result = search_baseline(model, Scorer(dataset, plan, evaluations, progress))
    how = f"best of {len(result.tried)} configurations on split(s) {_range(plan.first)}, at most {plan.epochs} epochs"
    if plan.finalists:
        how += f", the last {plan.finalists} compared by crossed validation score on split(s) {_range(plan.decisive)}"
    return [_recipe(model, dataset, "ours", result.best, how)]


def _find_family(model: str, dataset: str, evaluations: Evaluations, progress: Progress | None) -> list[Recipe]:
    graph = load_once(dataset)
    plan = family_search_plan(graph.num_nodes)
    search = FamilySearch(Scorer(dataset, plan, evaluations, progress), directed=graph.directed)
    ours, paper = search.second_round(model), search.open_settings(model)
    splits = f"by crossed validation score on splits {_range(plan.decisive)}"
    return [
        _recipe(
            model,
            dataset,
            "ours",
            Scored(ours.best.settings | LENGTH, ours.best.rule, ours.best.score),
            f"best of {len(ours.tried)} configurations in two rounds on split(s) {_range(plan.first)}, "
            f"the last {plan.finalists + 1} compared {splits}",
        ),
        _recipe(
            model,
            dataset,
            "paper",
            paper.best,
            f"as printed; what is not printed is the best of {len(paper.tried)} on split(s) {_range(plan.first)}"
            + ("" if plan.narrow else f", the last 2 compared {splits}"),
        ),
    ]


def _recipe(model: str, dataset: str, origin: Any, scored: Scored, how: str) -> Recipe:
    return Recipe(model, dataset, origin, {**scored.settings, "select": scored.rule}, how, round(scored.score, 3))


def _range(splits: tuple[int, ...]) -> str:
    return f"{splits[0]}-{splits[-1]}" if len(splits) > 1 else str(splits[0])
