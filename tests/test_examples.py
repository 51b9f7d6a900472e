from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_examples_run_and_learn(path: Path) -> None:
    answer = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    match = re.search(r"test accuracy (\d\.\d+)", answer.stdout)
    assert match is not None
    assert float(match[1]) > 0.5
