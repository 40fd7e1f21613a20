"""`python -m tests.support.pattern_matrix`: writes the transcripts; with `kernel`, `batch` or `spark` runs them that way too.

python -m tests.support.pattern_matrix                   the files in tests/transcripts/pattern_matrix
python -m tests.support.pattern_matrix kernel            all cells, in the kernel's driver
python -m tests.support.pattern_matrix spark "killed"    cells whose name has the text, through Spark
"""

from __future__ import annotations

import sys

from tests.support.matrix.__main__ import main, write
from tests.support.pattern_matrix.driving import drive_and_note
from tests.support.pattern_matrix.runs import PATTERNS
from tests.support.pattern_matrix.writing import texts


def drive(texts_wanted: list[str]) -> int:
    """The cells whose name has the texts, in the driver."""
    from headrace.spark.session import open_session

    conf = {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}
    chosen = [cell for cell in PATTERNS.allowed if all(text in cell.name for text in texts_wanted)]
    failures = drive_and_note(chosen, open_session("headrace-matrix", master="local[2]", conf=conf))
    for failure in failures:
        sys.stdout.write(f"\n{failure.name}\n{failure.failure}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    write(texts())
    rest = [word for word in sys.argv[1:] if word != "kernel"]
    driven = drive([word for word in rest if word not in ("batch", "spark")]) if "kernel" in sys.argv else 0
    sys.exit(main(PATTERNS, rest) or driven)
