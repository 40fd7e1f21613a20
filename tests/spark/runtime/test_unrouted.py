"""Side outputs that no step reads are stored in files beside the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.support.examples_at_hand import json_rows

from headrace import Pipeline, Processor, connect, side_output


class Split(Processor):
    """Sends large values to a side output."""

    output = "k string, v int"
    large = side_output("k string, v int")

    def process(self, row: Any) -> Any:
        if row.v < 10:
            yield {"k": row.k, "v": row.v}
        else:
            self.large.emit({"k": row.k, "v": row.v})


def test_side_output_of_a_processor_without_a_sink_is_stored(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, out = Pipeline("split"), connect.memory()
    rows = pipeline.read(
        "rows", connect.memory(rows=[{"k": "a", "v": 1}, {"k": "a", "v": 10}]), schema="k string, v int"
    )
    rows.key_by("k").process("split", Split).write("out", out)
    assert "unrouted rows of `large` are counted and stored in files" in pipeline.explain()
    pipeline.run(until="drained", checkpoint=tmp_path)
    assert [row["v"] for row in out.contents()] == [1]
    assert [row["v"] for row in json_rows(*tmp_path.glob("unrouted/split.large/*.json"))] == [10]
