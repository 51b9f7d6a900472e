"""What tests of commands share: a folder of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcn import synthesize
from gpcn.data.tables.tables_out import write_graph_tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_graph_tables(synthesize(nodes=80, degree=4, unlabelled=0.1), tmp_path / "mine")
    return tmp_path / "mine"
