"""Print or run the generated transcripts of patterns.

python -m tests.support.pattern_matrix optional          print the transcripts of a quantifier
python -m tests.support.pattern_matrix kernel            run all cells in the kernel's driver
python -m tests.support.pattern_matrix spark "killed"    run the cells whose name contains the text through
Spark
"""

from __future__ import annotations

import sys

from tests.support.matrix.__main__ import main, print_transcripts
from tests.support.pattern_matrix.driving import drive_and_note
from tests.support.pattern_matrix.runs import PATTERNS
from tests.support.pattern_matrix.writing import texts


def drive(texts_wanted: list[str]) -> int:
    """Run the cells whose name contains the texts in the kernel's driver."""
    from headrace.spark.session import open_session

    conf = {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}
    chosen = [cell for cell in PATTERNS.allowed if all(text in cell.name for text in texts_wanted)]
    failures = drive_and_note(chosen, open_session("headrace-matrix", master="local[2]", conf=conf))
    for failure in failures:
        sys.stdout.write(f"\n{failure.name}\n{failure.failure}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    if print_transcripts(texts(), sys.argv[1:]):
        sys.exit(0)
    rest = [word for word in sys.argv[1:] if word != "kernel"]
    driven = drive([word for word in rest if word not in ("batch", "spark")]) if "kernel" in sys.argv else 0
    sys.exit(main(PATTERNS, rest) or driven)
