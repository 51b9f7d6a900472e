"""The seeds of the fuzzer are what they should be, and all that it ever found stays mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import seeds
from tests.fuzz.readers import KINDS, read_bytes

HERE = Path(__file__).parent
SEEDS = sorted((HERE / "corpus").iterdir())
CRASHES = sorted((HERE / "crashes").iterdir()) if (HERE / "crashes").is_dir() else []


def test_there_is_a_seed_for_every_reader_and_the_corpus_is_small() -> None:
    assert {path.name.rpartition("-")[0] for path in SEEDS} == set(KINDS)
    assert sum(path.stat().st_size for path in SEEDS) < 100_000


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_seeds_are_read(kind: str) -> None:
    number = list(KINDS).index(kind)
    for content in seeds.contents()[kind]:
        assert read_bytes(bytes([number]) + content), kind


@pytest.mark.parametrize("path", [*SEEDS, *CRASHES], ids=lambda path: path.name)
def test_no_input_is_worse_than_a_sentence(path: Path) -> None:
    read_bytes(path.read_bytes())
