"""What `gpcn bound --out` and `gpcn spectrum --out` write; reading it back is checked, for anybody may have made it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcn.atomic import replacing
from gpcn.errors import ConfigError, DataError

BOUND, SPECTRUM = "gpcn bound", "gpcn spectrum"


@dataclass(frozen=True)
class Version:
    """A bound: its terms, their sum over `Q`, and what the test error may exceed the training error by."""

    terms: dict[str, float]
    total: float
    dominant: str
    gap: float


@dataclass(frozen=True)
class TheoryDocument:
    """The spectrum of a graph and, where there is a model, its bounds by version and what was measured."""

    graph: str
    of: str
    method: str
    power_sums: tuple[float, ...]
    errors: tuple[float, ...]
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    model: str | None = None
    split: int | None = None
    train: float | None = None
    test: float | None = None
    reached: tuple[float, float] | None = None
    bounds: dict[str, Version] | None = None

    @property
    def title(self) -> str:
        """Of what."""
        return self.graph if self.model is None else f"{self.model} on {self.graph}"

    @classmethod
    def read(cls, path: Path) -> TheoryDocument:
        """The document at `path`."""
        try:
            told = json.loads(path.read_bytes())
            kind = told.get("kind") if isinstance(told, dict) else None
            if kind not in (BOUND, SPECTRUM):
                raise DataError(f"{path} is not a document of gpcn bound --out or gpcn spectrum --out")
            return _of_bound(told) if kind == BOUND else cls(**_spectrum(told, told))
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError(
                f"{path} is damaged ({error!r}); make it again with gpcn bound or spectrum --out"
            ) from error


def write(document: Mapping[str, Any], path: Path) -> None:
    """Keep `document` at `path`."""
    check_name(path)
    with replacing(path) as stream:
        stream.write((json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def check_name(path: Path) -> None:
    """Refuse a name that `gpcn report` would not recognize, before there is anything to write."""
    if path.suffix.lower() != ".json":
        raise ConfigError(f"--out is {path}; expected a name that ends in .json")


def _of_bound(told: Mapping[str, Any]) -> TheoryDocument:
    reached = told["monte_carlo"]
    bounds = {
        str(name): Version(
            {str(term): _finite(value) for term, value in each["terms"].items()},
            _finite(each["total"]),
            str(each["dominant"]),
            _finite(each["transductive"]["gap"]),
        )
        for name, each in told["bounds"].items()
    }
    if set(bounds) != {"printed", "corrected"}:
        raise ValueError("it has other bounds than the printed and the corrected one")
    return TheoryDocument(
        **_spectrum(told["spectrum"], told),
        model=str(told["model"]),
        split=int(_finite(told["split"])),
        train=None if told["train_score"] is None else _finite(told["train_score"]),
        test=None if told["test_score"] is None else _finite(told["test_score"]),
        reached=None if reached is None else (_finite(reached["mean"]), _finite(reached["error"])),
        bounds=bounds,
    )


def _spectrum(told: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        "graph": str(whole["graph"]),
        "of": str(told["of"]),
        "method": str(told["method"]),
        "power_sums": tuple(map(_finite, told["power_sums"])),
        "errors": tuple(map(_finite, told["errors"])),
        "edges": tuple(map(_finite, told["density"]["edges"])),
        "shares": tuple(map(_finite, told["density"]["shares"])),
    }
    if len(found["edges"]) != len(found["shares"]) + 1 or len(found["power_sums"]) != len(found["errors"]):
        raise ValueError("its lists have different lengths")
    return found


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
