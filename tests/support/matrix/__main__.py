"""`python -m tests.support.matrix`: writes the transcripts; with `kernel`, `batch` or `spark` runs them that way too.

python -m tests.support.matrix                          the files in tests/transcripts/matrix
python -m tests.support.matrix kernel                   all cells, without a query
python -m tests.support.matrix batch                    those that a batch has something to say about, and their batch
python -m tests.support.matrix spark "killed"           cells whose name has the text, through Spark
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

from tests.support.matrix.runs import WINDOWS, Table, Way, comparable, run_and_note
from tests.support.matrix.writing import texts


def write(files: Mapping[Path, str]) -> None:
    """Write the files that differ."""
    for path, text in files.items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            sys.stdout.write(f"{path}\n")


def main(table: Table, arguments: Sequence[str]) -> int:
    """Run the ways that are named, over cells whose name has the other texts."""
    ways = [word for word in arguments if word in get_args(Way)]
    texts_wanted = [word for word in arguments if word not in ways]
    chosen = [cell for cell in table.allowed if all(text in cell.name for text in texts_wanted)]
    failures = [failure for way in ways for failure in _run(cast("Way", way), chosen, table)]
    for failure in failures:
        sys.stdout.write(f"\n{failure.name}\n{failure.failure}\n")
    return 1 if failures else 0


def _run(way: Way, chosen: list, table: Table) -> list:  # type: ignore[type-arg]
    from headrace.spark.session import open_session

    conf = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    spark = open_session("headrace-matrix", master="local[2]", conf=conf)
    wanted = [cell for cell in chosen if way != "batch" or table is not WINDOWS or comparable(cell)]
    return run_and_note(wanted, way, spark, side_by_side=1 if way == "kernel" else 4, table=table)


if __name__ == "__main__":
    write(texts())
    sys.exit(main(WINDOWS, sys.argv[1:]))
