"""Generate the files of the example: `python -m examples.meters.make_events`.

The expected rows come from the numbers that the meters showed, so they check what the model has read.
"""

from __future__ import annotations

import random
from base64 import b64encode
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
from sklearn.datasets import load_digits

from examples.meters.reading import HEADER, TRAINED, ReadMeter
from examples.writing import instant, json_lines, write_all

METERS = ("gas-1", "gas-2", "water-1")
MINUTES = 60
SET_BACK = {("gas-2", 38): 250, ("water-1", 21): 40}
"""By how much a meter was set back, before the photo of a minute."""
CUT_OFF = {("gas-1", 12), ("water-1", 50)}
"""Photos of which only a part arrived."""

Photo = tuple[str, int, int]


def photos(seed: int = 3) -> list[Photo]:
    """(meter, minute, number) of each photo; in each minute, the meters are in random order."""
    chance = random.Random(seed)
    numbers = {meter: chance.randrange(1000, 8000) for meter in METERS}
    made = []
    for minute in range(MINUTES):
        for meter in chance.sample(METERS, len(METERS)):
            numbers[meter] += chance.randrange(1, 9) - SET_BACK.get((meter, minute), 0)
            made.append((meter, minute, numbers[meter]))
    return made


def images() -> dict[int, list[Any]]:
    """Return images of each digit that the model was not trained with, without those that it cannot read."""
    digits, reader = load_digits(), ReadMeter()
    reader.open()
    read = reader.model.predict(digits.data[TRAINED:])
    others = zip(digits.images[TRAINED:], digits.target[TRAINED:], read, strict=True)
    legible = [(image, target) for image, target, number in others if number == target]
    return {digit: [image for image, target in legible if target == digit] for digit in range(10)}


def draw(number: int, of_digit: dict[int, list[Any]], chance: random.Random) -> bytes:
    """Return a photo of a meter that shows a number."""
    row = [chance.choice(of_digit[int(digit)]) for digit in f"{number:04}"]
    return HEADER + numpy.hstack(row).astype(numpy.uint8).tobytes()


def backwards(made: list[Photo]) -> list[dict[str, Any]]:
    """Return each reading that is less than the one before."""
    rows = []
    for meter in METERS:
        own = [photo for photo in made if photo[0] == meter and photo[:2] not in CUT_OFF]
        for (_, _, before), (_, minute, after) in pairwise(own):
            if after < before:
                rows.append({"meter": meter, "at": instant(60 * minute), "before": before, "after": after})
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    made, of_digit, chance = photos(), images(), random.Random(4)
    events = []
    for meter, minute, number in made:
        photo = draw(number, of_digit, chance)
        sent = photo[:100] if (meter, minute) in CUT_OFF else photo
        events.append({"meter": meter, "ts": instant(60 * minute), "photo": b64encode(sent).decode()})
    return {"events.jsonl": json_lines(events), "expected.jsonl": json_lines(backwards(made))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
