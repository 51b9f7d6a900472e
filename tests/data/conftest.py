"""Tables that several files of tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.payments import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Edges and nodes of `tests.data.payments`."""
    return written(tmp_path / "tables")
