"""Print or run the generated transcripts of windows.

python -m tests.support.matrix sliding                  print the transcripts of sliding windows
python -m tests.support.matrix kernel                   run all cells without a query
python -m tests.support.matrix batch                    run those that can be compared with a batch, and their
batch python -m tests.support.matrix spark "killed"           run the cells whose name contains the text
through Spark
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from tests.support.matrix.runs import WINDOWS, Table, Way, comparable, run_and_note
from tests.support.matrix.writing import texts


def print_transcripts(files: Mapping[str, str], arguments: Sequence[str]) -> bool:
    """Print the transcripts that the arguments name; without arguments, print the names."""
    names = [argument for argument in arguments if argument in files]
    sys.stdout.write("---\n".join(files[name] for name in names))
    if not arguments:
        sys.stdout.write("\n".join(files) + "\n")
    return bool(names) or not arguments


def main(table: Table, arguments: Sequence[str]) -> int:
    """Run the cells whose name contains the texts, in each of the ways."""
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
    sys.exit(0 if print_transcripts(texts(), sys.argv[1:]) else main(WINDOWS, sys.argv[1:]))
