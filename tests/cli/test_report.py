from __future__ import annotations

from pathlib import Path

from tests.commands import TINY, document, refused
from tests.commands import in_process as gpcn


def test_report_says_what_was_written(folder: Path, tmp_path: Path) -> None:
    words = ("compare", folder, "--models", "mlp,gpcn", *TINY, "--random-splits", 2, "--out", tmp_path / "runs")
    document(*words)
    report = document("report", tmp_path / "runs", "--out", tmp_path / "r.html")
    assert report["bytes"] == (tmp_path / "r.html").stat().st_size
    assert [section["kind"] for section in report["sections"]] == ["graph", "comparison", "run"]
    shown = gpcn("report", tmp_path / "runs" / "gpcn", folder, "--out", tmp_path / "r.html")
    assert shown.returncode == 0
    assert "run gpcn" in shown.stdout


def test_report_refuses_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    assert "is neither a run" in refused("report", tmp_path, "--out", tmp_path / "r.html")
    assert "did you mean texas" in refused("report", "texsa", "--out", tmp_path / "r.html")
    assert "ends in .html" in refused("report", folder, "--out", tmp_path / "r.txt")
    assert not list(tmp_path.glob("*.html"))
