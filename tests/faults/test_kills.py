"""The page on reliability shows what `make kills` found, and nothing was lost or left."""

from __future__ import annotations

import json

import pytest

from tests.faults.kills import COLUMNS, PAGE, RESULTS, UNHARMED, table


@pytest.mark.skipif(not RESULTS.exists(), reason="make kills was not run yet")
def test_the_page_shows_what_was_found() -> None:
    rows = json.loads(RESULTS.read_text())["rows"]
    assert table(rows) in PAGE.read_text()
    assert not any(row[column] for row in rows.values() for column in COLUMNS if column not in UNHARMED)
    assert all(row["kills"] for row in rows.values())
