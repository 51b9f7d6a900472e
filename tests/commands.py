"""`gpcn ...` as tests run it: in this process, in one of its own, or in one that can be killed.

Starting Python and importing PyTorch takes seconds, and most tests are about what a command does and says: those run
it `in_process`. Tests of the process itself (signals, imports, exit codes) run it `in_a_process`; those that kill many
use `Killable` ones, forked from a server that has imported everything and computed nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from gpcn.cli import main

Answer = subprocess.CompletedProcess[str]
TINY = ("--set", "hidden=8", "--set", "epochs=10", "--jobs", "1")
"""Options of a training that ends at once."""


def process_words(*words: object) -> list[str]:
    """The command line of a process, in which every warning is an error."""
    return [sys.executable, "-W", "error", "-m", "gpcn", *map(str, words)]


def in_a_process(*words: object, cwd: Path | None = None, **env: str) -> Answer:
    """Run `gpcn words` as a user does."""
    return subprocess.run(
        process_words(*words), capture_output=True, text=True, env=os.environ | env, cwd=cwd, check=False
    )


def in_process(*words: object, cwd: Path | None = None, **env: str) -> Answer:
    """Run `gpcn words` here: the same streams and exit code, and nothing of it stays behind."""
    arguments = ["gpcn", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threads = torch.get_num_threads()
    code = 0
    try:
        with (
            mock.patch.dict(os.environ, env),
            mock.patch.object(sys, "argv", arguments),
            contextlib.chdir(cwd or Path.cwd()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except Exception:
                code = 1
                traceback.print_exc()
    finally:
        torch.set_num_threads(threads)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(arguments, code, *texts)


def document(*words: object, **env: str) -> Any:
    """What a command prints with `--json`; it must succeed and say nothing else."""
    answer = in_process(*words, "--json", **env)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return json.loads(answer.stdout)


def refused(*words: object, **env: str) -> str:
    """The one sentence on stderr of a command that must fail."""
    answer = in_process(*words, **env)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    return answer.stderr.strip()


class Killable:
    """`gpcn words` in a forked process that says nothing; the part of `subprocess.Popen` that kills need."""

    def __init__(self, *words: object, **env: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.preloaded"])
        self._process = context.Process(target=_silent, args=([*map(str, words)], os.environ | env))
        self._process.start()

    def poll(self) -> int | None:
        """The exit code, or the negative of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self) -> int | None:
        """The same as `poll`, when it has ended."""
        self._process.join()
        return self._process.exitcode


def _silent(words: list[str], env: dict[str, str]) -> None:
    os.environ.update(env)
    sys.argv = ["gpcn", *words]
    sink = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(sink, number)
    warnings.simplefilter("error")
    main()
