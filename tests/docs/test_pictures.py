"""The pictures of the documentation are up to date, and their transcripts pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docs._making.dashboard import GALLERY, every_page, gallery
from docs._making.dashboard import PAGES as PAGES_OF_THE_DASHBOARD
from docs._making.dashboard import TARGET as IMAGES

from headrace import Pipeline
from headrace.explain.pattern_diagram import diagram_of
from headrace.explain.pattern_svg import svg_of
from headrace.steps.patterns.match import Match
from headrace.testing import Case, draw, read_file, run_files
from headrace.testing.transcripts.runs.kernel_cases import runs_in_kernel
from headrace.triggers import Trigger
from headrace.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs"
TRANSCRIPTS = sorted((DOCS / "transcripts").glob("*.transcript.yaml"))
PICTURES = DOCS / "images" / "timelines"
PAGES = sorted(
    page for folder in ("windows", "triggers", "modes", "how-to") for page in (DOCS / folder).glob("*.md")
)


def name_of(transcript: Path) -> str:
    return transcript.name.removesuffix(".transcript.yaml")


def quick(transcript: Path) -> bool:
    """True if the in-process driver can run the transcript, so that drawing it is cheap."""
    return all(isinstance(case, Case) and runs_in_kernel(case) for case in read_file(transcript))


def test_picture_of_pattern_is_up_to_date() -> None:
    graph = Pipeline.from_yaml(DOCS.parent / "examples" / "base_stations" / "pipeline.yaml")._plan()
    drawn = svg_of([diagram_of(node) for node in graph.of(Match)])
    assert (DOCS / "images" / "patterns" / "base_stations.svg").read_text() == drawn


def test_the_transcripts_of_the_documentation_pass(spark: SparkSession) -> None:
    report = run_files(TRANSCRIPTS, spark=spark)
    assert [f"{outcome.where}: {outcome.failure}" for outcome in report.failures] == []
    assert len(report.outcomes) >= 20


@pytest.mark.parametrize("transcript", [each for each in TRANSCRIPTS if quick(each)], ids=name_of)
def test_picture_of_transcript_is_up_to_date(transcript: Path, spark: SparkSession) -> None:
    drawn = (PICTURES / f"{name_of(transcript)}.svg").read_text(encoding="utf-8")
    assert drawn == draw(transcript, spark=spark), "run `make pictures`"


def test_every_transcript_has_a_picture_and_every_picture_is_on_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"timelines/(\w+)\.svg", page.read_text())}
    linked = {
        name for page in PAGES for name in re.findall(r"transcripts/(\w+)\.transcript", page.read_text())
    }
    transcripts = {name_of(transcript) for transcript in TRANSCRIPTS}
    assert transcripts == {picture.stem for picture in PICTURES.glob("*.svg")} == shown == linked


def test_every_kind_of_window_and_trigger_is_drawn() -> None:
    pages = {page.stem for page in (DOCS / "windows").glob("*.md")}
    assert {kind.__name__.lower() for kind in Window.__subclasses__()} == pages - {"index"}
    words = (DOCS / "triggers" / "index.md").read_text()
    kinds = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower() for kind in Trigger.__subclasses__()]
    assert [kind for kind in kinds if kind not in words] == []


def test_gallery_of_the_dashboard_has_a_picture_of_every_page() -> None:
    assert GALLERY.read_text() == gallery(), "run `python -m docs._making.dashboard`"
    missing = [
        shot.name
        for shot in every_page(PAGES_OF_THE_DASHBOARD)
        if not (IMAGES / f"{shot.name}.png").is_file()
    ]
    assert missing == []
