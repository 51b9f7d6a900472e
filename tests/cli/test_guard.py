"""Whatever ends a command is one sentence and an exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpcn.cli.shared import guard
from gpcn.cli.shared.guard import explain_failure, without_debug_option
from tests.faults.commands import refused, run_command

GRAPH_OPTIONS = {"nodes": 60, "degree": 4}


def shell(words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -W error -m gpcn {words}"
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ | env, check=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--jobs", "0"), r"--jobs is '0': .*; see gpcn train --help"),
        (("--jobs=x",), r"--jobs is 'x': .*; see gpcn train --help"),
        (("--seed", "-1"), r"--seed is '-1': .*; see gpcn train --help"),
        (("--nonsense",), r"no such option: --nonsense.*; see gpcn train --help"),
        (("one", "more"), r"unexpected extra argument.*; see gpcn train --help"),
        (("--out",), r"'--out' requires an argument; see gpcn"),
    ],
)
def test_the_parsers_own_errors_are_one_sentence(words: tuple[str, ...], sentence: str, graph_file: Path) -> None:
    assert re.search(sentence, refused("train", graph_file, *words))


def test_unknown_commands_and_missing_arguments_are_one_sentence() -> None:
    assert "no such command 'foo'; see gpcn --help" in refused("foo")
    assert "missing argument 'GRAPH'; see gpcn inspect --help" in refused("inspect")


def test_a_file_that_looks_like_an_option_has_a_way_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-x").touch()
    assert "for the file of that name write ./-x" in refused("inspect", "-x")


def test_help_succeeds_and_no_command_shows_the_usage() -> None:
    assert run_command("--help").code == 0
    bare = run_command()
    assert (bare.code, "Usage" in bare.stdout) == (2, True)


def test_names_that_are_not_utf8_are_refused() -> None:
    for words in (("inspect", "caf\udce9.csv"), ("train", "a.csv", "--nodes", "\udcff.csv"), ("datasets", "\udcff")):
        assert "is not UTF-8 text" in refused(*words)


def test_an_empty_name_to_write_to_is_no_name(graph_file: Path) -> None:
    for words in (("--out", ""), ("--out=",), ("-o", "")):
        assert "--out is empty" in refused("convert", graph_file, *words)


def test_endless_names_make_no_endless_sentence() -> None:
    assert len(refused("inspect", "x" * 100_000)) < 5000


def test_a_bug_is_one_sentence_and_its_details_are_kept(
    graph_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("gpcn.cli.shared.options.load", lambda *_, **__: {}["no such key"])
    answer = run_command("inspect", graph_file)
    assert answer.code == 1
    assert answer.stderr.count("\n") == 1
    assert re.search(r"gpcn inspect .* failed \(KeyError: 'no such key'\), which is a bug in gpcn", answer.stderr)
    (details,) = tmp_path.glob("gpcn-error-*.txt")
    assert str(details) in answer.stderr
    assert "Traceback" in details.read_text()
    assert details.stat().st_mode & 0o077 == 0
    debugged = run_command("inspect", graph_file, "--debug")
    assert debugged.code == 1
    assert "Traceback" in debugged.stderr
    assert len(list(tmp_path.glob("gpcn-error-*.txt"))) == 1


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 2, "does not have enough memory"),
        (MemoryError("Unable to allocate 3.2 GiB for an array"), 2, r"asked for 3.2 GiB at once"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 800 bytes"), 2, "800 bytes"),
        (
            ImportError("libtorch_cpu.so: failed to map segment from shared object"),
            2,
            r"memory to load libtorch_cpu.so,",
        ),
        (OSError("libgomp.so.1: failed to map segment from shared object"), 2, r"libgomp.so.1, .* raise the limit"),
        (OSError(12, "Cannot allocate memory"), 2, "does not have enough memory"),
        (ImportError("libx.so: failed to map segment from shared object: Operation not permitted"), 1, "not permitted"),
        (ImportError("libx.so: cannot allocate memory in static TLS block"), 1, "static TLS"),
        (RecursionError("maximum recursion depth exceeded"), 1, "RecursionError"),
        (OverflowError("too large"), 1, "OverflowError: too large"),
        (PermissionError(13, "Permission denied", "a.csv"), 2, "cannot read or write a.csv: Permission denied"),
        (OSError(28, "No space left on device"), 2, "cannot write its output: No space left"),
        (ValueError(), 1, r"failed \(ValueError\)"),
    ],
)
def test_every_kind_of_failure_has_its_sentence_and_code(
    error: Exception, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sentence, exit_code = explain_failure(error, ["train", "g.npz"])
    assert exit_code == code
    assert re.search(words, sentence)
    assert "\n" not in sentence


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v limits nothing elsewhere")
@pytest.mark.parametrize("kilobytes", [600_000, 760_000])
def test_too_little_room_for_pytorch_is_no_bug_and_no_crash(kilobytes: int) -> None:
    """With 600 MB its libraries were not found room for, with 760 MB C++ ended the process while loading them."""
    answer = subprocess.run(
        ["bash", "-c", f"ulimit -c 0 -v {kilobytes}; {sys.executable} -m gpcn models"],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "2"},
        check=False,
    )
    assert answer.returncode == 2, answer.stderr
    assert re.fullmatch(r"error: .*(PyTorch needs about 461 MB of addresses|memory to load lib).*\n", answer.stderr)


def test_where_details_cannot_be_written_the_sentence_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    assert "run it again with --debug" in explain_failure(ValueError("x"), ["train"])[0]


def test_debug_may_stand_anywhere_before_the_double_dash() -> None:
    assert without_debug_option(["--debug", "train", "g"]) == (["train", "g"], True)
    assert without_debug_option(["train", "g", "--debug"]) == (["train", "g"], True)
    assert without_debug_option(["train", "--", "--debug"]) == (["train", "--", "--debug"], False)


def test_shown_commands_are_short_and_harmless() -> None:
    assert "\x1b" not in guard.printable_command(["\x1b[31m"])
    assert len(guard.printable_command(["x" * 10_000])) < 300


def test_a_refused_budget_leaves_no_warning(graph_file: Path, tmp_path: Path) -> None:
    answer = shell(f"train {graph_file} --model auto --jobs 2 --budget 0s --out {tmp_path / 'r'}")
    assert answer.returncode == 2
    assert re.fullmatch(r"error: --budget is '0s'; .*\n", answer.stderr)


def test_a_closed_full_or_narrow_stdout_is_no_traceback(graph_file: Path) -> None:
    closed = shell(f"inspect {graph_file} >&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    for words in ("", "--json"):
        full = shell(f"inspect {graph_file} {words} > /dev/full")
        assert full.returncode == 2
        assert re.fullmatch(r"error: gpcn inspect .* cannot write its output: No space left on device\n", full.stderr)
    narrow = shell(f"inspect {graph_file}", PYTHONIOENCODING="ascii")
    assert (narrow.returncode, narrow.stderr) == (0, "")
    assert "homophily" in narrow.stdout
    assert shell("inspect nowhere.csv 2>/dev/full").returncode == 2
    assert shell("inspect nowhere.csv 2>&-").returncode == 2
    piped = shell(f"inspect {graph_file} | true; exit ${{PIPESTATUS[0]}}")
    assert (piped.returncode in (0, 141), piped.stderr) == (True, "")
