"""Draw every transcript of the documentation: `make pictures`. All of them share one Spark session."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.testing.drawing import draw
from headrace.testing.transcripts.runner import test_session

ROOT = Path(__file__).parents[1]
TRANSCRIPTS = ROOT / "transcripts"
PICTURES = ROOT / "images" / "timelines"


def picture_of(transcript: Path) -> Path:
    """Return the path of the picture of a transcript."""
    return PICTURES / f"{transcript.name.removesuffix('.transcript.yaml')}.svg"


def main(*names: str) -> None:
    """Draw all transcripts, or those whose file name contains one of the texts."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    spark = test_session()
    for transcript in sorted(TRANSCRIPTS.glob("*.transcript.yaml")):
        if not names or any(name in transcript.name for name in names):
            picture_of(transcript).write_text(draw(transcript, spark=spark), encoding="utf-8")
            sys.stdout.write(f"{picture_of(transcript)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
