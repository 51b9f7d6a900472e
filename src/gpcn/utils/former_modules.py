"""Documented modules under the names they had before: imported for one more version, with a warning.

An importer behind Python's own (`install`), so that no room keeps files for what moved out of it. What is imported is
the module itself, not a copy: its classes are the same under both names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER_MODULES = {
    "gpcn.class_explanation": "gpcn.explanation",
    "gpcn.joint_explanation": "gpcn.explanation",
    "gpcn.cli.options": "gpcn.cli.shared.options",
    "gpcn.cli.output": "gpcn.cli.shared.output",
    "gpcn.data.benchmark": "gpcn.data.benchmarks.loading",
    "gpcn.data.catalog": "gpcn.data.benchmarks.catalog",
    "gpcn.data.columns": "gpcn.data.tables.columns",
    "gpcn.nn.bank": "gpcn.nn.engine.bank",
    "gpcn.nn.entry": "gpcn.nn.zoo_entries.entry",
    "gpcn.nn.model_settings": "gpcn.nn.zoo_entries.model_settings",
    "gpcn.nn.neighbour_table": "gpcn.nn.baselines.neighbour_table",
    "gpcn.nn.polynomial": "gpcn.nn.engine.polynomial",
    "gpcn.training.compared_runs": "gpcn.training.scores.compared_runs",
    "gpcn.training.comparison": "gpcn.training.scores.comparison",
    "gpcn.training.drift": "gpcn.training.predictions.drift",
    "gpcn.training.evaluation": "gpcn.training.scores.evaluation",
    "gpcn.training.fitted": "gpcn.training.predictions.fitted",
    "gpcn.training.metrics": "gpcn.training.scores.metrics",
    "gpcn.training.model_comparison": "gpcn.training.scores.model_comparison",
    "gpcn.training.out_of_fold": "gpcn.training.predictions.out_of_fold",
    "gpcn.training.prediction": "gpcn.training.predictions.prediction",
    "gpcn.training.profile": "gpcn.training.runs.profile",
    "gpcn.training.rounds": "gpcn.training.round_trainer",
    "gpcn.training.run": "gpcn.training.runs.run",
    "gpcn.training.source": "gpcn.training.runs.graph_source",
    "gpcn.training.threshold": "gpcn.training.predictions.threshold",
    "gpcn.training.trainers": "gpcn.training.trainer_choice",
    "gpcn.tuning.auto.interval": "gpcn.tuning.auto.expected_score",
}


class FormerModules:
    """Finds and loads modules under their former names."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where Python found no such module; `None` where there never was one."""
        if name not in FORMER_MODULES:
            return None
        return ModuleSpec(name, FormerModules())  # type: ignore[arg-type]  # importlib.abc takes its time to import

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """An empty one, as Python makes it."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Python keeps what is in `sys.modules` afterwards: the module as it is called today."""
        former = module.__name__
        current = FORMER_MODULES[former]
        warnings.warn(
            f"{former} is now called {current}; the former name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[former] = import_module(current)


def install() -> None:
    """Former names can be imported from now on."""
    if FormerModules not in sys.meta_path:
        sys.meta_path.append(FormerModules)
