"""`python -m tests.fuzz SECONDS [KIND]`: let atheris look for bytes that make a reader fail, hang or grow without end.

New inputs that reach new code go to a scratch folder; one that fails is written to `tests/fuzz/crashes/`, where
`test_corpus.py` repeats it from then on.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent
LIMITS = ("-timeout=60", "-rss_limit_mb=4096", "-max_len=20000", "-print_final_stats=1", "-report_slow_units=60")


def main(seconds: int, kind: str | None = None) -> None:
    import atheris  # type: ignore[import-not-found]

    os.environ["GPCN_MEMORY"] = "1G"
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(
        include=["gpcn", "tomllib", "zipfile", "networkx.readwrite"], enable_loader_override=False
    ):
        from tests.fuzz.readers import KINDS, read_bytes

    (HERE / "crashes").mkdir(exist_ok=True)
    one = b"" if kind is None else bytes([list(KINDS).index(kind)])

    def feed(data: bytes) -> None:
        read_bytes(one + data[len(one) :])

    with tempfile.TemporaryDirectory(prefix="gpcn-fuzz-corpus-") as fresh:
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={HERE / 'crashes'}/", *LIMITS]
        atheris.Setup([sys.argv[0], *options, fresh, str(HERE / "corpus")], feed)
        atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600, *sys.argv[2:3])
