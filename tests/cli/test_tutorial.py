"""What docs/tutorial-fraud.md says of drift is what its commands print; neither depends on the training."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands import in_process

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial-fraud.md"
QUICK = ("--set", "epochs=2", "--set", "hidden=4", "--random-splits", 1, "--jobs", 1)


def test_the_notes_on_april_are_those_of_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (tmp_path / "fraud.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])  # type: ignore[index]
    tables = ("fraud/transfers.csv", "--nodes", "fraud/accounts.csv", "--columns", "fraud.toml")
    later = ("fraud/next/transfers.csv", "--nodes", "fraud/next/accounts.csv")
    for words in (
        ("synth", "--preset", "fraud", "--out", "fraud"),
        ("train", *tables, "--model", "agpcn", *QUICK, "--out", "best"),
        ("predict", "best", *later, "--threshold", "top=20", "--sort", "--out", "to-look-at.csv"),
    ):
        answer = in_process(*words, cwd=tmp_path, COLUMNS="200")
        assert answer.returncode == 0, answer.stderr
    printed = " ".join(answer.stdout.split())
    section = text.split("## Next month")[1].split("\n## ")[0]
    notes = re.findall(r"^note: .*$", section, re.M)
    assert len([note for note in notes if "drift" in note]) == 2
    for note in notes:
        assert note in printed
