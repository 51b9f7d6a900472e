"""One guard around every command: whatever ends it is one sentence on stderr and an exit code.

0 done; 1 a bug in gpcn, its details in a file; 2 something about the input, the options or the machine;
130 and 143 stopped by Ctrl-C or SIGTERM; 141 nobody reads the output any more. `--debug` shows the traceback.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import typer

from gpcn.cli.shared import elapsed_time
from gpcn.cli.shared.option_words import command_line_words
from gpcn.cli.shared.output import print_error
from gpcn.cli.shared.stopping import SENTENCE, Stopped
from gpcn.core.errors import ConfigError, GpcnError
from gpcn.core.machine_memory import is_refusal, require_addresses
from gpcn.core.text import printable_text

BUG, INPUT, BROKEN_PIPE = 1, 2, 141
DEBUG = "--debug"
ParserError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What the parser of the command line raises; Typer has moved it from one module to another."""
TORCH_ADDRESSES = 440 << 20  # bytes that `import torch` takes at least (2.13 on x86-64), most of them never touched
LONGEST_COMMAND = 200
OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def guarded(run: Callable[[list[str]], int], words: Sequence[str]) -> int:
    """Run a command given in `words`; the exit code of the process."""
    return copy_context().run(_guarded, run, words)  # how a command shows errors ends with it


def _guarded(run: Callable[[list[str]], int], words: Sequence[str]) -> int:
    elapsed_time.start_clock()
    wanted, debug = without_debug_option(words)
    _open_standard_streams()
    try:
        _refuse_unusable(wanted)
        with _room_for_torch():
            code = run(wanted)
        sys.stdout.flush()
        return code
    except Stopped as stopped:
        print_error(SENTENCE)
        return int(stopped.args[0])
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except Exception as error:
        if debug:
            traceback.print_exc()
        sentence, code = explain_failure(error, wanted, debug=debug)
        print_error(sentence)
        if isinstance(error, OSError):
            _silence_stdout()
        return code


class _room_for_torch:  # noqa: N801
    """Refuse to import PyTorch inside where `ulimit -v` leaves no room for it: half loaded, it aborts the process."""

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)

    def find_spec(self, name: str, *_: object) -> None:
        """Look before PyTorch is found; who finds it comes after."""
        if name == "torch":
            require_addresses(TORCH_ADDRESSES, "PyTorch")


def explain_failure(error: Exception, words: Sequence[str], *, debug: bool = False) -> tuple[str, int]:
    """The sentence for whatever ended a command, and the exit code."""
    command = printable_command(words)
    if isinstance(error, GpcnError):
        return error.worded(command_line_words), INPUT
    if isinstance(error, ParserError):
        return _parser_sentence(error, words), INPUT
    if is_refusal(error):
        return _memory_sentence(error, command), INPUT
    if isinstance(error, OSError):
        what = "write its output" if error.errno in OF_OUTPUT else "read or write a file"
        what = f"read or write {error.filename}" if error.filename else what
        return f"{command} cannot {what}: {error.strerror or error}", INPUT
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{command} failed ({kind[:300]}), which is a bug in gpcn; {_details(error, words, debug)}", BUG


def without_debug_option(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words of a command without `--debug`, which may stand anywhere before `--`."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != DEBUG]
    return [*kept, *words[end:]], len(kept) < end


def printable_command(words: Sequence[str]) -> str:
    """The command as somebody typed it, short and harmless."""
    text = printable_text(" ".join(["gpcn", *words]))
    return text if len(text) <= LONGEST_COMMAND else text[:LONGEST_COMMAND] + "…"


def _memory_sentence(error: Exception, command: str) -> str:
    library = re.search(r"[\w.+-]+\.so[\w.]*(?=:)", str(error))
    if library:
        return (
            f"there is not enough memory to load {library[0]}, which {command} needs; raise the limit of this process "
            "(ulimit -v), or free memory"
        )
    wanted = re.search(r"allocate ([\d.]+ ?\w+)", str(error))
    detail = f" (it asked for {wanted[1]} at once)" if wanted else ""
    return f"this machine does not have enough memory for {command}{detail}; use less data or a smaller model"


def _parser_sentence(error: Any, words: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "gpcn"
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    given = _given_value(error, words)
    if given is not None:
        message = f"{given[0]} is {given[1]!r}: {' '.join(error.message.split()).rstrip('.')}"
    word = getattr(error, "option_name", None)
    beginning = [other for other in words if word and other.startswith("-") and Path(other).exists()]
    if beginning:
        message += f"; for the file of that name write ./{beginning[0]}"
    return f"{message[:1].lower()}{message[1:]}; see {path} --help"


def _given_value(error: Any, words: Sequence[str]) -> tuple[str, str] | None:
    """The option that the parser refuses and the value it was given, where both can be seen."""
    names = [*getattr(getattr(error, "param", None), "opts", ())]
    if type(error) is not typer.BadParameter:
        return None
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, sign, value = word.partition("=")
        if name in names and name.startswith("-"):
            return name, value if sign else following
    return None


def _details(error: Exception, words: Sequence[str], debug: bool) -> str:
    """Write the traceback to a file, and say which."""
    if debug:
        return "please report the traceback above"
    from gpcn import __version__

    text = "".join(traceback.format_exception(error))
    try:
        descriptor, name = tempfile.mkstemp(prefix="gpcn-error-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"gpcn {__version__}, Python {sys.version}\n{printable_command(words)}\n\n{text}")
    except OSError:
        return "run it again with --debug and report what it shows"
    return f"the details are in {name}, please report them, or run it again with --debug"


def _refuse_unusable(words: Sequence[str]) -> None:
    """Words that no command can use: text that is no text, and a name to write to that is empty."""
    for word, following in zip(words, [*words[1:], None], strict=False):
        if (word in ("--out", "-o") and following == "") or word == "--out=":
            raise ConfigError("--out is empty; expected the name of a file or folder to write")
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise ConfigError(
                f"{printable_text(word)!r} is not UTF-8 text, as the names of files and columns must be; rename it"
            )


def _open_standard_streams() -> None:
    """Somebody may have closed them, or have a terminal that cannot show all characters."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def _silence_stdout() -> None:
    """What could not be written is dropped, so that the interpreter does not try it again while it ends."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
