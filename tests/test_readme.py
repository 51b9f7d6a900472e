"""The README's own graph: its four commands, as they stand there, end with a list and a page."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

from tests.commands import in_process

README = Path(__file__).resolve().parents[1] / "README.md"
BUDGET = "6s"  # instead of the README's; all else is run as it is written


def commands() -> list[list[str]]:
    """The words of each command in the first block of the section, without `gpcn`."""
    section = README.read_text().split("## Your own graph")[1].split("\n## ")[0]
    lines = re.findall(r"^    (gpcn .*)$", section, re.M)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_four_commands_lead_from_two_tables_to_a_list_and_a_page(tmp_path: Path) -> None:
    listed = commands()
    assert [words[0] for words in listed] == ["synth", "auto", "predict", "report"]
    listed[1][listed[1].index("--budget") + 1] = BUDGET
    for words in listed:
        answer = in_process(*words, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
    with (tmp_path / "fraud" / "accounts.csv").open(newline="") as stream:
        unknown = {row["account"] for row in csv.DictReader(stream) if not row["fraud"]}
    with (tmp_path / "predictions.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["node"] for row in rows} == unknown
    suspicion = [float(row["p_yes"]) for row in rows]
    assert suspicion == sorted(suspicion, reverse=True)
    page = (tmp_path / "report.html").read_text()
    assert "What was tried" in page
    assert rows[0]["node"] in page  # among the nodes to look at first
