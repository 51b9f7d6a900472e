"""What `gpcn bound --out` and `gpcn spectrum --out` write; reading it back is checked, for anybody may have made it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcn.errors import ConfigError, DataError, Option
from gpcn.files.atomic import replacing

BOUND, SPECTRUM = "gpcn bound", "gpcn spectrum"


@dataclass(frozen=True)
class StoredBound:
    """A bound: its terms, their sum over `Q`, and by how much the test error may exceed the training error."""

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
    bounds: dict[str, StoredBound] | None = None

    @property
    def title(self) -> str:
        """The graph that it is about, and where there is one the model."""
        return self.graph if self.model is None else f"{self.model} on {self.graph}"

    @classmethod
    def read(cls, path: Path) -> TheoryDocument:
        """The document at `path`."""
        try:
            document = json.loads(path.read_bytes())
            kind = document.get("kind") if isinstance(document, dict) else None
            if kind not in (BOUND, SPECTRUM):
                raise DataError(
                    f"{path} is not a document of gpcn bound {Option('out')} or gpcn spectrum {Option('out')}"
                )
            if kind == BOUND:
                return _from_bound(document)
            return cls(graph=str(document["graph"]), **_spectrum_fields(document))
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError(
                f"{path} is damaged ({error!r}); make it again with gpcn bound or spectrum {Option('out')}"
            ) from error


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Keep `document` at `path`."""
    check_document_name(path)
    with replacing(path) as stream:
        stream.write((json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def check_document_name(path: Path) -> None:
    """Refuse a name that `gpcn report` would not recognize, before there is anything to write."""
    if path.suffix.lower() != ".json":
        raise ConfigError(f"{Option('out')} is {path}; expected a name that ends in .json")


def _from_bound(document: Mapping[str, Any]) -> TheoryDocument:
    reached = document["monte_carlo"]
    bounds = {
        str(name): StoredBound(
            {str(term): _finite(value) for term, value in bound["terms"].items()},
            _finite(bound["total"]),
            str(bound["dominant"]),
            _finite(bound["transductive"]["gap"]),
        )
        for name, bound in document["bounds"].items()
    }
    if set(bounds) != {"printed", "corrected"}:
        raise ValueError("it has other bounds than the printed and the corrected one")
    return TheoryDocument(
        graph=str(document["graph"]),
        **_spectrum_fields(document["spectrum"]),
        model=str(document["model"]),
        split=int(_finite(document["split"])),
        train=None if document["train_score"] is None else _finite(document["train_score"]),
        test=None if document["test_score"] is None else _finite(document["test_score"]),
        reached=None if reached is None else (_finite(reached["mean"]), _finite(reached["error"])),
        bounds=bounds,
    )


def _spectrum_fields(spectrum: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `TheoryDocument` that describe a spectrum."""
    fields = {
        "of": str(spectrum["of"]),
        "method": str(spectrum["method"]),
        "power_sums": tuple(map(_finite, spectrum["power_sums"])),
        "errors": tuple(map(_finite, spectrum["errors"])),
        "edges": tuple(map(_finite, spectrum["density"]["edges"])),
        "shares": tuple(map(_finite, spectrum["density"]["shares"])),
    }
    if len(fields["edges"]) != len(fields["shares"]) + 1 or len(fields["power_sums"]) != len(fields["errors"]):
        raise ValueError("its lists have different lengths")
    return fields


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
