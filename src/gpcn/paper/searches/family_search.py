"""Recipes of the GPCN family, in two rounds.

The first round starts from what the paper prints for the model and its siblings, draws other settings, and goes on from
the best. The second lets the four models learn from each other: each tries what the first round found for the others,
and goes on from the best of all. At the paper's own settings, what the paper leaves open is tried.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import numpy as np

from gpcn.nn.zoo import FAMILY
from gpcn.paper.reference.recipes import printed_settings
from gpcn.paper.searches.plans import (
    FAMILY_SPACE,
    NEARLY_LINK,
    STARTS_OF_THETA,
    Choices,
    Settings,
    draw_recipe_settings,
    mutate_recipe_settings,
    relevant_setting_choices,
    relevant_setting_names,
)
from gpcn.paper.searches.scoring import Scored, Scorer, SearchResult
from gpcn.training.config import TrainConfig


class FamilySearch:
    """The search on one dataset; `directed` says whether seeing edges in both directions changes the graph."""

    def __init__(self, scorer: Scorer, *, directed: bool) -> None:
        self.scorer, self.plan, self.directed = scorer, scorer.plan, directed
        self.first_round = lru_cache(self._first_round)

    def _first_round(self, model: str) -> SearchResult:
        plan, rng, choices = self.plan, self._rng(model), self._choices(model)
        rank = self.scorer.rank
        base = printed_settings(model, self.scorer.dataset) or {}
        starts: list[Settings] = [{**base, "normalize_features": value} for value in (False, True)]
        narrow: Settings = {"hidden": plan.width} if plan.width else {}
        tried = [
            *starts,
            *(mutate_recipe_settings(starts[1] | narrow, choices, rng) for _ in range(plan.mutations)),
            *(plan.fitted(draw_recipe_settings(choices, rng)) for _ in range(plan.draws)),
        ]
        parents = [plan.fitted(scored.settings) for scored in rank(model, tried, plan.first)[:3]]
        more = [mutate_recipe_settings(parents[i % 3], choices, rng) for i in range(plan.mutations)]
        related = [
            plan.fitted(
                _translated(model, printed_settings(other, self.scorer.dataset) or {}) | {"normalize_features": True}
            )
            for other in FAMILY
            if other != model
        ]
        if "mu" in choices:
            related.append(plan.fitted(NEARLY_LINK))
        siblings = [scored.settings for scored in rank(model, related, plan.first)]
        more += siblings + [mutate_recipe_settings(siblings[0], choices, rng) for _ in range(plan.of_siblings)]
        ours = [settings for settings in tried + more if settings not in starts]
        finalists = [scored.settings for scored in rank(model, ours, plan.first)[: plan.finalists]]
        return SearchResult(rank(model, finalists, plan.last, long=True)[0], tuple(ours))

    def second_round(self, model: str) -> SearchResult:
        """The best of what the first round tried, of what it chose for the other models, and of changes of these."""
        plan, rng, choices = self.plan, self._rng(model, "second round"), self._choices(model)
        rank = self.scorer.rank
        first = self.first_round(model)
        others = [
            _translated(model, _explicit(other, self.first_round(other).best.settings))
            for other in FAMILY
            if other != model
        ]
        tried = [*first.tried, *others]
        parents = [scored.settings for scored in rank(model, tried, plan.first)[:3]]
        tried += [mutate_recipe_settings(parents[i % 3], choices, rng, 1 + i % 2) for i in range(plan.refinements)]
        finalists = [scored.settings for scored in rank(model, tried, plan.first)[: plan.finalists]]
        final = rank(model, [first.best.settings, *finalists], plan.decisive, long=True)
        return SearchResult(final[0], tuple(tried))

    def open_settings(self, model: str) -> SearchResult:
        """What serves best where the paper's settings say nothing: feature scale, start of `θ`, direction of edges."""
        rank, base = self.scorer.rank, printed_settings(model, self.scorer.dataset) or {}
        starts = STARTS_OF_THETA if "adaptive" in relevant_setting_names(model) else ()
        tried: list[Settings] = [
            {"normalize_features": value, **({"gamma": gamma} if gamma else {})}
            for value in (False, True)
            for gamma in starts or (None,)
            if not (self.plan.narrow and value and gamma not in (None, *STARTS_OF_THETA[-1:]))
        ]
        ranked = rank(model, [base | open_values for open_values in tried], self.plan.first)
        if self.directed:
            tried.append({name: ranked[0].settings[name] for name in tried[0]} | {"direction": "both"})
            ranked = rank(model, [base | open_values for open_values in tried], self.plan.first)
        if self.plan.narrow:  # at the paper's width a longer comparison would take hours
            final = ranked[0]
        else:
            final = rank(model, [scored.settings for scored in ranked[:2]], self.plan.decisive, long=True)[0]
        chosen = {name: final.settings[name] for open_values in tried for name in open_values if name in final.settings}
        return SearchResult(Scored(chosen, final.rule, final.score), tuple(tried))

    def _choices(self, model: str) -> Choices:
        return self.plan.choices(relevant_setting_choices(model, FAMILY_SPACE))

    def _rng(self, model: str, *more: str) -> np.random.Generator:
        return np.random.default_rng(crc32("|".join((model, self.scorer.dataset, *more)).encode()))


def _translated(model: str, settings: Settings) -> Settings:
    """The settings of another model of the family: one polynomial of the adjacency may suit them all."""
    names = relevant_setting_names(model)
    start: Settings = {"adaptive": "relative"} if "adaptive" in names else {}
    return start | {name: value for name, value in settings.items() if name in names}


def _explicit(model: str, settings: Settings) -> Settings:
    """With the defaults of `model`, which another model may not share."""
    config = TrainConfig.of(model, **settings)
    return {name: config[name] for name in (*FAMILY_SPACE, "adaptive") if name in relevant_setting_names(model)}
