"""Finding recipes on validation nodes alone: `gpcn reproduce recipes`.

The GPCN family starts from what the paper prints for the model and its siblings, draws other settings, and goes on from
the best (`FAMILY_PLAN`).
Baselines get eight configurations on two splits each, the same for all (`BASELINE_PLAN`). Everything is scored by
`training.probe`, so both rules for the best epoch are judged by one training. The draws depend on model and dataset
alone, so a search that was interrupted asks the same questions again and finds their answers on disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from gpcn.atomic import replacing
from gpcn.data import catalog
from gpcn.data.benchmark import is_available
from gpcn.nn import zoo
from gpcn.nn.hyperparameters import Value
from gpcn.paper.evaluations import Evaluations, Progress, Question, load_once
from gpcn.paper.published import FAMILY
from gpcn.paper.recipes import Recipe, printed
from gpcn.training.config import TRAINING, TrainConfig
from gpcn.training.probe import RULES

Settings = dict[str, Value]
COMMON: dict[str, tuple[Value, ...]] = {
    "lr": (0.005, 0.01, 0.05),
    "weight_decay": (1e-5, 5e-4, 1e-3, 5e-3),
    "dropout": (0.0, 0.3, 0.5, 0.7, 0.8),
    "symmetrize": (False, True),
    "normalize_features": (False, True),
}
FAMILY_SPACE: dict[str, tuple[Value, ...]] = COMMON | {
    "hidden": (64, 256),
    "layers": (1, 2, 4, 8),
    "mlp_layers": (1, 2, 3),
    "gamma": (2.0**-6, 2.0**-4, 2.0**-2, 1.0),
    "bias": (False, True),
    "mu": (0.1, 0.5, 0.9, 0.99),
    "link_decay": (-1.0, 1e-2, 5e-2),
}
"""What our search of the family draws from; `paper.recipes.space` is the paper's own grid."""
NEARLY_LINK: Settings = {
    "lr": 0.05,
    "weight_decay": 1e-5,
    "hidden": 256,
    "layers": 1,
    "mlp_layers": 1,
    "gamma": 2.0**-4,
    "dropout": 0.0,
    "mu": 0.1,
    "normalize_features": True,
}
"""What the baseline LINK likes on validation nodes: little decay, and here little convolution."""


@dataclass(frozen=True)
class Plan:
    """How a search spends its evaluations.

    Args:
        draws: configurations drawn at random, besides those it starts from.
        mutations: of what it starts from, and once more of the best three.
        of_siblings: of the best of what the paper prints for the other models of the family.
        first: splits for all configurations.
        last: splits for the finalists; none where the first round decides.
        finalists: how many.
        epochs, patience: of the first round; the last one has twice as many.
        width: `hidden` of what it mutates first; as the paper prints where 0.
    """

    draws: int
    mutations: int
    first: tuple[int, ...]
    last: tuple[int, ...] = ()
    finalists: int = 3
    epochs: int = 150
    patience: int = 30
    width: int = 0
    of_siblings: int = 4


FAMILY_PLAN = Plan(draws=10, mutations=10, first=(0,), last=(0, 1, 2), finalists=3)
SMALL_FAMILY_PLAN = replace(FAMILY_PLAN, draws=8, mutations=5, first=(0, 1), last=tuple(range(5)))
LARGE_FAMILY_PLAN = replace(FAMILY_PLAN, width=64)
BASELINE_PLAN = Plan(draws=7, mutations=0, first=(0, 1), patience=20)
LENGTH: Settings = {"epochs": 300, "patience": 60}  # of the trainings that follow, as in the last round
BASELINE_PATIENCE = 50
SLOW_PLANS = {("h2gcn", "twitch-de"): replace(BASELINE_PLAN, first=(0,), epochs=60)}
"""Exceptions: two steps reach 37 % of all pairs of nodes of twitch-de, so an epoch of H2GCN takes two seconds."""
SMALL = 1000  # nodes; below it a split costs a second or two and says little, so there are more of both
LARGE = 5000  # nodes; above it width 512 costs minutes a split, so the search of ours starts narrow


@dataclass(frozen=True)
class Scored:
    """A configuration, the better rule for it, and its crossed validation score."""

    settings: Settings
    rule: str
    score: float


Scorer = Callable[[list[Settings], Plan, bool], list[Scored]]


def find_all(
    datasets: Iterable[str],
    models: Sequence[str],
    path: Path,
    *,
    evaluations: Evaluations,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Find the recipes of all models on all datasets that are at hand, and keep them in `path` beside those there."""
    known: dict[tuple[str, ...], dict[str, Any]] = {}
    if path.exists():
        known = {_name(row): row for row in json.loads(path.read_text())}
    fresh = []
    for dataset in datasets:
        if not is_available(catalog.entry(dataset)):
            continue
        for model in models:
            for each in find(model, dataset, evaluations, progress):
                row = asdict(each)
                fresh.append(row)
                known[_name(row)] = row
            lines = ",\n".join(json.dumps(known[name]) for name in sorted(known))
            with replacing(path) as stream:
                stream.write(f"[\n{lines}\n]\n".encode())
    return fresh


def _name(row: dict[str, Any]) -> tuple[str, ...]:
    return row["dataset"], row["model"], row["origin"]


def find(model: str, dataset: str, evaluations: Evaluations, progress: Progress | None = None) -> list[Recipe]:
    """The recipes for `model` on `dataset`: ours, and for the family what the paper leaves open."""
    rng = np.random.default_rng(crc32(f"{model}|{dataset}".encode()))

    def scored(settings: list[Settings], plan: Plan, last: bool) -> list[Scored]:
        return _score(model, dataset, settings, plan, last, evaluations, progress)

    if model in FAMILY:
        return _find_family(model, dataset, _family_plan(load_once(dataset).num_nodes), rng, scored)
    plan = SLOW_PLANS.get((model, dataset), BASELINE_PLAN)
    names = {each.name for each in zoo.entry(model).hyperparameters}
    own = {each.name: each.space for each in zoo.entry(model).hyperparameters if each.space and each.name != "hidden"}
    choices = {**own, **COMMON}
    fixed: Settings = {"patience": BASELINE_PATIENCE}
    if "hidden" in names:
        fixed["hidden"] = 64
    settings = [fixed, *(fixed | draw(_known(model, choices), rng) for _ in range(plan.draws))]
    ranked = scored(settings, plan, False)
    how = (
        f"best of {len(settings)} configurations by crossed validation score on split(s) {_list(plan.first)}, "
        f"at most {plan.epochs} epochs"
    )
    return [_recipe(model, dataset, "ours", ranked[0], how)]


def _family_plan(nodes: int) -> Plan:
    if nodes < SMALL:
        return SMALL_FAMILY_PLAN
    return LARGE_FAMILY_PLAN if nodes > LARGE else FAMILY_PLAN


def _find_family(model: str, dataset: str, plan: Plan, rng: np.random.Generator, scored: Scorer) -> list[Recipe]:
    choices = _known(model, FAMILY_SPACE)
    base = printed(model, dataset) or {}
    starts: list[Settings] = [{**base, "normalize_features": value} for value in (False, True)]
    narrow: Settings = {"hidden": plan.width} if plan.width else {}
    tried = [
        *starts,
        *(mutate(starts[1] | narrow, choices, rng) for _ in range(plan.mutations)),
        *(draw(choices, rng) for _ in range(plan.draws)),
    ]
    ranked = scored(tried, plan, False)
    parents = [each.settings for each in ranked[:3]]
    more = [mutate(parents[i % 3], choices, rng) for i in range(plan.mutations)]
    related = [_sibling(model, other, dataset) for other in FAMILY if other != model]
    if "mu" in choices:
        related.append(NEARLY_LINK)
    siblings = scored(related, plan, False)
    more += [each.settings for each in siblings]
    more += [mutate(siblings[0].settings, choices, rng) for _ in range(plan.of_siblings)]
    ranked = scored(tried + more, plan, False)
    finalists = [each.settings for each in ranked if each.settings not in starts][: plan.finalists]
    final = scored(finalists + starts, plan, True)
    ours = next(each for each in final if each.settings not in starts)
    paper = next(each for each in final if each.settings in starts)
    open_ones = {"normalize_features": paper.settings["normalize_features"]}
    splits = _list(plan.last)
    return [
        _recipe(
            model,
            dataset,
            "ours",
            ours,
            f"best of {len(tried) + len(more) - len(starts)} configurations (splits {_list(plan.first)}), the last "
            f"{len(finalists)} compared by crossed validation score on splits {splits}",
        ),
        _recipe(
            model,
            dataset,
            "paper",
            replace(paper, settings=open_ones),
            f"as printed; normalize_features and select by crossed validation score on splits {splits}",
        ),
    ]


def _sibling(model: str, other: str, dataset: str) -> Settings:
    """What the paper prints for another model of the family: one polynomial of the adjacency may suit them all."""
    own = {each.name for each in (*zoo.entry(model).hyperparameters, *TRAINING)}
    settings = {name: value for name, value in (printed(other, dataset) or {}).items() if name in own}
    if "adaptive" in own:
        settings["adaptive"] = "relative"  # they start from another model's coefficients, large and small
    return settings | {"normalize_features": True}


def draw(choices: dict[str, tuple[Value, ...]], rng: np.random.Generator) -> Settings:
    """Each setting at random."""
    return {name: values[rng.integers(len(values))] for name, values in choices.items()}


def mutate(
    settings: Settings, choices: dict[str, tuple[Value, ...]], rng: np.random.Generator, count: int = 2
) -> Settings:
    """The same with `count` settings drawn anew."""
    names = list(rng.choice(list(choices), size=count, replace=False))
    return settings | draw({str(name): choices[str(name)] for name in names}, rng)


def _score(
    model: str,
    dataset: str,
    settings: list[Settings],
    plan: Plan,
    last: bool,
    evaluations: Evaluations,
    progress: Progress | None,
) -> list[Scored]:
    """Best first; a configuration that failed on any split comes last."""
    rounds = 2 if last else 1
    length = {"epochs": rounds * plan.epochs, "patience": rounds * plan.patience}
    splits = plan.last if last else plan.first
    unique = list({tuple(sorted(each.items())): each for each in settings}.values())
    configs = [TrainConfig.of(model, **{**each, **length}) for each in unique]
    questions = [Question(dataset, config, split, "probe") for config in configs for split in splits]
    answers = iter(evaluations.answer(questions, progress))
    found = []
    for each in unique:
        of_splits = [next(answers) for _ in splits]
        means = {rule: _mean(answer.get(rule) for answer in of_splits) for rule in RULES}
        rule = max(RULES, key=lambda name: means[name])
        found.append(Scored(each, rule, means[rule]))
    return sorted(found, key=lambda each: -each.score)


def _mean(values: Iterable[Any]) -> float:
    found = list(values)
    return float("-inf") if None in found else float(np.mean(found))


def _known(model: str, choices: dict[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
    names = {each.name for each in (*zoo.entry(model).hyperparameters, *TRAINING)}
    if "mu" not in names:
        names.discard("link_decay")  # there is no W_A to decay
    return {name: values for name, values in choices.items() if name in names}


def _recipe(model: str, dataset: str, origin: Any, scored: Scored, how: str) -> Recipe:
    length = LENGTH if origin == "ours" and model in FAMILY else {}
    settings = {**scored.settings, **length, "select": scored.rule}
    return Recipe(model, dataset, origin, settings, how, round(scored.score, 3))


def _list(splits: tuple[int, ...]) -> str:
    return f"{splits[0]}-{splits[-1]}" if len(splits) > 1 else str(splits[0])
