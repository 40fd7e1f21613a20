"""Sinks with `mode: complete` hold every key after every epoch, also beside the sink of unrouted dead letters."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.cli.app import main

Counts = dict[str, int]


def read_json(place: Path, sink: Any = None) -> Counts:
    lines = [line for file in place.glob("[!_.]*.json") for line in file.read_text().splitlines()]
    return {row["word"]: row["n"] for row in map(json.loads, lines)}


def read_csv(place: Path, sink: Any = None) -> Counts:
    lines = [line for file in place.glob("[!_.]*.csv") for line in file.read_text().splitlines()]
    return {word: int(n) for word, n in csv.reader(lines)}


def read_sqlite(place: Path, sink: Any = None) -> Counts:
    with closing(sqlite3.connect(place)) as database:
        return dict(database.execute("select word, n from counts"))


def read_memory(place: Path, sink: Any = None) -> Counts:
    return {row["word"]: row["n"] for row in sink.contents()}


SINKS: dict[str, tuple[Callable[[Path], Any], Callable[[Path, Any], Counts]]] = {
    "json": (lambda place: connect.files(path=str(place), format="json"), read_json),
    "csv": (lambda place: connect.files(path=str(place), format="csv"), read_csv),
    "sqlite": (lambda place: connect.sqlite(path=str(place), table="counts"), read_sqlite),
    "memory": (lambda place: connect.memory(), read_memory),
}


@pytest.mark.parametrize("kind", SINKS)
def test_complete_sink_holds_all_keys_after_a_second_epoch(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    build, read = SINKS[kind]
    (lines := tmp_path / "lines").mkdir()
    sink = build(tmp_path / "out")
    pipeline = Pipeline("words")
    words = pipeline.read("lines", connect.files(path=str(lines)), format="text")
    counted = words.select(word="explode(split(value, ' '))").key_by("word").aggregate("n", n="count(*)")
    counted.write("out", sink, mode="complete")
    for number, text in enumerate(("one two", "two three")):
        (lines / f"{number}.txt").write_text(text)
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert read(tmp_path / "out", sink) == {"one": 1, "two": 2, "three": 1}


def test_new_word_count_keeps_its_words_after_a_second_input_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(*arguments: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        assert not ended.value.code

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    call("new", "mine", "--template", "word_count")
    monkeypatch.chdir(tmp_path / "mine")
    call("run", "pipeline.yaml", "--once", "--quiet")
    before = read_json(Path("results"))
    Path("lines/more.txt").write_text("headrace extraordinary\n")
    call("run", "pipeline.yaml", "--once", "--quiet")
    after = read_json(Path("results"))
    assert after == before | {"headrace": before.get("headrace", 0) + 1, "extraordinary": 1}
    assert len(before) > 2
