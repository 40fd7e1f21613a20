"""An example as its user has it: a directory of its own, with the pipeline in both languages."""

from __future__ import annotations

import json
import runpy
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace import Pipeline
from headrace.streams.pipeline import collecting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/pipeline.py"))
LANGUAGES = ("py", "yaml")


@dataclass(frozen=True)
class Example:
    """A copy of one example, which is the working directory."""

    directory: Path

    def pipeline(self, language: str) -> Pipeline:
        """The pipeline, freshly built from one of the twins."""
        if language == "yaml":
            return Pipeline.from_yaml("pipeline.yaml")
        with collecting() as actual:
            runpy.run_path("pipeline.py")
        [pipeline] = actual
        return pipeline

    def run(self, language: str) -> Pipeline:
        """Run a twin to the end of its input; its row accounting balances."""
        pipeline = self.pipeline(language)
        with pipeline.start(until="drained", checkpoint=self.directory / "checkpoint") as running:
            running.wait()
            status = running.status()
        assert {step: str(each) for step, each in status.steps.items() if not each.balanced} == {}
        assert status.mismatches == ()
        return pipeline


def copy_of(name: str, target: Path) -> Example:
    """A copy without what runs leave behind."""
    left_behind = shutil.ignore_patterns("__pycache__", "out", ".headrace", "*.db")
    return Example(Path(shutil.copytree(EXAMPLES / name, target / name, ignore=left_behind)))


def json_rows(*files: Path) -> list[dict[str, Any]]:
    """The rows of JSON lines files."""
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows as text that is equal in any order of rows and of sums; a null is no value."""
    options = ({name: value for name, value in row.items() if value is not None} for row in rows)
    rounded = (json.loads(json.dumps(row), parse_float=lambda text: round(float(text), 6)) for row in options)
    return sorted(json.dumps(row, sort_keys=True) for row in rounded)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as a JSON file would hold them."""
    spelled = "to_json(struct(*), map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")) as text"
    return [json.loads(row.text) for row in frame.selectExpr(spelled).collect()]
