"""The command line inside the test's own process: as a user meets it, without the second that Python needs to start."""

from __future__ import annotations

import io
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from gpcn.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command said, and its exit code."""

    code: int
    stdout: str
    stderr: str


def run_command(*words: object) -> Answer:
    """`gpcn WORDS`; whatever it raises would have been a traceback, and is raised here."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["gpcn", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return Answer(code, out.getvalue(), err.getvalue())


def refused(*words: object) -> str:
    """The one sentence of a command that must end with exit code 2."""
    answer = run_command(*words)
    assert answer.code == 2, (answer.code, answer.stdout, answer.stderr)
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1, answer.stderr
    return answer.stderr.strip()
