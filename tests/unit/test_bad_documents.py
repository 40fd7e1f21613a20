"""Errors in documents: each has its position, the problem and a hint."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from headrace import Pipeline, connect
from headrace.connectors import registry
from headrace.errors import DocumentError, Location, PlanError, Problem

SOURCES, SINKS, TABLES = (
    [kind for kind in registry.kinds() if role in registry.connector(kind).roles]
    for role in ("source", "sink", "table")
)
SOURCE_KEYS = ", ".join(
    sorted(
        {
            *SOURCES,
            "changelog",
            "event_time",
            "format",
            "ingestion_time",
            "on_error",
            "processing_time",
            "schema",
        }
    )
)
TYPES = (
    "array, bigint, binary, boolean, byte, date, decimal, double, float, int, integer, interval, long, map, "
    "real, short, smallint, string, struct, timestamp, timestamp_ltz, timestamp_ntz, tinyint, variant"
)
TX = """\
name: p
sources:
  tx: {memory: {}, schema: "id string, card string, amount double, ts timestamp", event_time: ts}
"""


def source(written: str) -> str:
    """A document with one source, at 3:7."""
    return f"name: p\nsources:\n  tx: {written}\n"


def step(written: str) -> str:
    """A document with a good source and one step, at 5:6."""
    return f"{TX}steps:\n  a: {written}\n"


def window(written: str) -> str:
    """A document whose step has this window, at 5:25."""
    return step(f"{{from: tx, window: {written}, aggregate: {{n: count(*)}}}}")


def emit(written: str) -> str:
    """A document whose step has this emission, at 5:51."""
    return step(f"{{from: tx, window: {{tumbling: 1 hour}}, emit: {written}, aggregate: {{n: count(*)}}}}")


DOCUMENTS: list[tuple[str, str, str]] = [
    (
        "an empty file",
        "",
        "p.yaml:1:1: the document is empty\n"
        "  hint: begin with `name: my-pipeline`, then sources, steps and sinks",
    ),
    (
        "only a comment",
        "# nothing\n",
        "p.yaml:1:1: the document is empty\n"
        "  hint: begin with `name: my-pipeline`, then sources, steps and sinks",
    ),
    (
        "a list",
        "- a\n- b\n",
        "p.yaml:1:1: expected the keys of a pipeline, got a list\n"
        "  hint: begin with `name: my-pipeline`, then sources, steps and sinks",
    ),
    (
        "a word",
        "pipeline\n",
        "p.yaml:1:1: expected the keys of a pipeline, got `pipeline`\n"
        "  hint: begin with `name: my-pipeline`, then sources, steps and sinks",
    ),
    (
        "two documents",
        "name: p\n---\nname: q\n",
        "p.yaml:3:1: expected one document, got 2\n"
        "  hint: keep one pipeline per file: remove `---` and the rest",
    ),
    (
        "a tab",
        "name: p\nsources:\n\ttx: {}\n",
        "p.yaml:3:1: expected spaces, got a tab\n  hint: indent with spaces",
    ),
    (
        "a brace that is never closed",
        "name: p\nsources: {tx: {memory: {}\n",
        "p.yaml:3:1: expected ',' or '}', but got '<stream end>' (while parsing a flow mapping)\n"
        "  hint: a bracket or quote of an earlier line is not closed",
    ),
    (
        "a quote that is never closed",
        "name: 'p\n",
        "p.yaml:2:1: found unexpected end of stream (while scanning a quoted scalar)\n"
        "  hint: a bracket or quote of an earlier line is not closed",
    ),
    (
        "a colon inside plain text",
        "name: p\nsources: {}\nsteps:\n  a:\n    where: kind = 'a: b'\n",
        "p.yaml:5:21: mapping values are not allowed here\n"
        "  hint: indent keys of one mapping alike; if `: ` is part of a text, put the whole text in double "
        "quotes",
    ),
    (
        "a text after a quote",
        "name: 'p' q\n",
        "p.yaml:1:11: expected <block end>, but found '<scalar>' (while parsing a block mapping)\n"
        "  hint: check brackets, commas and indentation; if it is a text, put the whole text in double "
        "quotes",
    ),
    (
        "a variable without quotes in a flow mapping",
        "name: p\nsources: {tx: {files: {path: ${DIR}}}}\n",
        "p.yaml:2:31: expected ',' or '}', but got '{' (while parsing a flow mapping)\n"
        '  hint: inside { } and [ ] put a variable in quotes: "${NAME}"',
    ),
    (
        "an at sign",
        "name: @p\n",
        "p.yaml:1:7: found character '@' that cannot start any token (while scanning for the next token)\n"
        "  hint: put the whole text in double quotes: this character is an indicator in YAML",
    ),
    (
        "an alias of nothing",
        "name: *p\n",
        "p.yaml:1:7: found undefined alias 'p'\n"
        "  hint: put the whole text in double quotes: this character is an indicator in YAML",
    ),
    (
        "a control character",
        "name: p\x01\n",
        "p.yaml:1:8: the character '\\x01' is not allowed in YAML\n"
        "  hint: save the file as UTF-8 text without control characters",
    ),
    (
        "a tag",
        "name: !p q\n",
        "p.yaml:1:7: unknown YAML tag `!p`\n  hint: remove it; quote a text that starts with !",
    ),
    (
        "a list as a key",
        "name: p\n? [a, b]\n: c\n",
        "p.yaml:2:3: expected a word before the colon, got a list or a mapping\n"
        "  hint: put the whole text in double quotes",
    ),
    (
        "a key twice",
        "name: p\nname: q\n",
        "p.yaml:2:1: duplicate key `name`\n  hint: the first is at 1:1; remove one",
    ),
    (
        "a merge of text",
        "name: p\nsources: {tx: {memory: {}, schema: a int, <<: memory}}\n",
        "p.yaml:2:47: expected a mapping after `<<`\n  hint: write `<<: *name`",
    ),
    (
        "a variable that is not set",
        "name: ${NAME_OF_IT}\n",
        "p.yaml:1:7: the environment variable `NAME_OF_IT` is not set\n"
        "  hint: set it, or write ${NAME_OF_IT:-a default}",
    ),
    (
        "a variable spelled almost right",
        "name: ${PIPELIN}\n",
        "p.yaml:1:7: the environment variable `PIPELIN` is not set\n"
        "  hint: did you mean `PIPELINE`? set it, or write ${PIPELIN:-a default}",
    ),
    (
        "a variable without a name",
        "name: p-${}\n",
        "p.yaml:1:7: expected a variable such as ${NAME} or ${NAME:-default}, got `${}`\n"
        "  hint: write `$${` for a literal `${`",
    ),
    (
        "a variable that is never closed",
        "name: p-${NAME\n",
        "p.yaml:1:7: expected a variable such as ${NAME} or ${NAME:-default}, got `${NAME`\n"
        "  hint: write `$${` for a literal `${`",
    ),
    (
        "no name",
        "sources: {}\n",
        "p.yaml:1:1: `name` of the pipeline is missing\n  hint: add a line such as `name: my-pipeline`",
    ),
    (
        "a name with a space",
        "name: card fraud\n",
        "p.yaml:1:7: expected a name of letters, digits, _ and -, got `card fraud`\n"
        "  hint: rename the pipeline",
    ),
    ("a list for a name", "name: [p]\n", "p.yaml:1:7: expected a name, got a list"),
    (
        "an unknown section",
        "name: p\nstep: {}\n",
        "p.yaml:2:1: unknown key `step` in the document\n"
        "  hint: did you mean `steps`? Known: name, sinks, sources, steps",
    ),
    (
        "a section that is a list",
        "name: p\nsteps: [a]\n",
        "p.yaml:2:8: expected names and their steps, got a list",
    ),
    (
        "a step's name with a space",
        TX + "steps:\n  a b: {from: tx, where: amount > 1}\n",
        "p.yaml:5:3: expected a name of letters, digits, _ and -, got `a b`\n  hint: rename it",
    ),
    (
        "one name for two things",
        TX + "steps:\n  tx: {from: tx, where: amount > 1}\n",
        "p.yaml:5:3: duplicate name `tx`\n  hint: rename one; the first is at p.yaml:3:3",
    ),
    (
        "a source without a connector",
        source("{schema: id string}"),
        f"p.yaml:3:7: the source has no connector\n  hint: one of {', '.join(SOURCES)}: {{...}}",
    ),
    (
        "a source that is text",
        source("memory"),
        "p.yaml:3:7: expected a connector and its options, got `memory`\n"
        "  hint: such as {memory: {}, schema: id string}",
    ),
    (
        "an unknown connector",
        source("{memroy: {}, schema: id string}"),
        f"p.yaml:3:8: unknown connector `memroy`\n  hint: did you mean `memory`? Known: {', '.join(SOURCES)}",
    ),
    (
        "two connectors",
        source("{memory: {}, files: {path: in/}, schema: id string}"),
        "p.yaml:3:20: expected one connector, got `memory` and `files`\n  hint: remove one",
    ),
    (
        "an unknown key of a source",
        source("{memory: {}, shema: id string}"),
        "p.yaml:3:20: unknown key `shema` in the source\n"
        f"  hint: did you mean `schema`? Known: {SOURCE_KEYS}",
    ),
    (
        "text for options",
        source("{files: in/, format: json}"),
        "p.yaml:3:15: expected the options of `files`, got `in/`\n  hint: write files: {...}",
    ),
    (
        "an unknown option",
        source("{files: {pth: in/, path: in/}, format: text}"),
        "p.yaml:3:16: files: unknown option `pth`\n"
        "  hint: did you mean `path`? Known: format, max_files_per_batch, partition_by, path, schema",
    ),
    (
        "a missing option",
        source("{files: {}, format: text}"),
        "p.yaml:3:15: files: option `path` is missing\n"
        "  hint: `path` is a directory; a source also reads a file or a glob such as `in/2026-*/*.json.gz`",
    ),
    (
        "an option of the wrong type",
        source("{files: {path: in/, max_files_per_batch: many}, format: text}"),
        "p.yaml:3:48: files: max_files_per_batch: input should be a valid integer, unable to parse string "
        "as an integer, got 'many'\n"
        "  hint: `max_files_per_batch` is the maximum number of files per epoch; default: no limit",
    ),
    (
        "an option out of range",
        source("{files: {path: in/, max_files_per_batch: 0}, format: text}"),
        "p.yaml:3:48: files: max_files_per_batch: expected a number of at least 1, got 0\n"
        "  hint: `max_files_per_batch` is the maximum number of files per epoch; default: no limit",
    ),
    (
        "an option inside a list",
        source("{memory: {rows: [1]}, schema: a int}"),
        "p.yaml:3:23: memory: rows: expected a list of rows, each a mapping from column to value, got [1]\n"
        "  hint: `rows` is the first rows, as mappings from column to value",
    ),
    (
        "an unknown format inside options",
        source("{files: {path: in/, format: jsn}}"),
        "p.yaml:3:35: files: format: unknown format `jsn` (did you mean `json`? Known: avro, csv, json, parquet, "
        "protobuf, raw, text), got 'jsn'\n"
        "  hint: `format` is the format of the files: json (one object per line), csv, text or parquet",
    ),
    (
        "an unknown format",
        source("{files: {path: in/}, format: jsn}"),
        "p.yaml:3:36: unknown format `jsn`\n"
        "  hint: did you mean `json`? Known: avro, csv, json, parquet, protobuf, raw, text",
    ),
    (
        "an unknown option of a format",
        source("{files: {path: in/}, format: {csv: {delimeter: ;}}, schema: a int}"),
        "p.yaml:3:43: csv: unknown option `delimeter`\n"
        "  hint: did you mean `delimiter`? Known: date_format, delimiter, escape, header, null_text, quote, "
        "timestamp_format",
    ),
    (
        "a wrong option of a format",
        source('{files: {path: in/}, format: {csv: {delimiter: ";;"}}, schema: a int}'),
        "p.yaml:3:54: csv: delimiter: string should have at most 1 character, got ';;'\n"
        "  hint: `delimiter` is the character between values",
    ),
    (
        "two formats",
        source("{files: {path: in/}, format: {csv: {}, json: {}}, schema: a int}"),
        "p.yaml:3:36: expected a format, got the keys csv, json\n"
        '  hint: such as json or {csv: {delimiter: ";"}}',
    ),
    (
        "an unknown type",
        source('{memory: {}, schema: "id strng"}'),
        f"p.yaml:3:28: schema character 4: unknown type `strng`\n  hint: did you mean `string`? Known: {TYPES}",
    ),
    (
        "a type of another language",
        source('{memory: {}, schema: "id varchar"}'),
        "p.yaml:3:28: schema character 4: unknown type `varchar`\n  hint: write `string`",
    ),
    (
        "an empty schema",
        source('{memory: {}, schema: ""}'),
        "p.yaml:3:28: expected a schema such as `card string, amount double`, got an empty text",
    ),
    (
        "a schema with a hidden column",
        source("{memory: {}, schema: __x int}"),
        "p.yaml:3:28: the column name `__x` is reserved: names that start with `__` are internal\n"
        "  hint: call it `x`",
    ),
    (
        "a schema as a mapping with an unknown type",
        source("{memory: {}, schema: {id: strng}}"),
        "p.yaml:3:33: column `id`: schema character 1: unknown type `strng`\n"
        f"  hint: did you mean `string`? Known: {TYPES}",
    ),
    (
        "a list for a schema",
        source("{memory: {}, schema: [id]}"),
        "p.yaml:3:28: expected a schema such as `card string, amount double`, got a list",
    ),
    (
        "an unknown word for on_error",
        source("{memory: {}, schema: a int, on_error: ignore}"),
        "p.yaml:3:45: expected one of fail, skip, divert, got `ignore`\n  hint: Known: divert, fail, skip",
    ),
    (
        "event_time without a column",
        source("{memory: {}, schema: ts timestamp, event_time: {idle: 1 minute}}"),
        "p.yaml:3:54: `column` of event_time is missing\n  hint: such as {column: ts, idle: 1 minute}",
    ),
    (
        "an unknown key of event_time",
        source("{memory: {}, schema: ts timestamp, event_time: {column: ts, out_of_ordr: 1 minute}}"),
        "p.yaml:3:67: unknown key `out_of_ordr` in event_time\n"
        "  hint: did you mean `out_of_order`? Known: column, idle, max_ahead, out_of_order, watermark_when",
    ),
    (
        "a length with an unknown unit",
        source("{memory: {}, schema: ts timestamp, event_time: {column: ts, out_of_order: 1 minuet}}"),
        "p.yaml:3:81: expected a duration, got '1 minuet'\n"
        '  hint: write a number and a unit, such as "30 seconds", "5 minutes" or "1 hour 30 minutes"',
    ),
    (
        "a length without a unit",
        source("{memory: {}, schema: ts timestamp, event_time: {column: ts, idle: 30}}"),
        "p.yaml:3:73: expected a duration, got '30'\n"
        '  hint: write a number and a unit, such as "30 seconds", "5 minutes" or "1 hour 30 minutes"',
    ),
    (
        "two kinds of time",
        source("{memory: {}, schema: ts timestamp, event_time: ts, ingestion_time: true}"),
        "p.yaml:3:58: expected one kind of time, got `event_time` and `ingestion_time`\n  hint: remove one",
    ),
    (
        "options of a clock",
        source("{memory: {}, schema: a int, processing_time: {idle: 1 minute}}"),
        "p.yaml:3:52: expected true or false, got a mapping\n  hint: it has no options",
    ),
    (
        "text for a clock",
        source("{memory: {}, schema: a int, ingestion_time: yes}"),
        "p.yaml:3:51: expected true or false, got `yes`\n  hint: it has no options",
    ),
    (
        "a step that is text",
        step("tx"),
        "p.yaml:5:6: expected the keys of a step, got `tx`\n  hint: such as {from: tx, where: amount > 50}",
    ),
    (
        "a step that reads nothing",
        step("{where: amount > 1}"),
        "p.yaml:5:6: `from` of the step is missing\n  hint: such as {from: tx, where: amount > 50}",
    ),
    (
        "a step that does nothing",
        step("{from: tx}"),
        "p.yaml:5:6: the step has no operation\n  hint: add where, select, aggregate, ...",
    ),
    (
        "an unknown stream",
        step("{from: tz, where: amount > 1}"),
        "p.yaml:5:13: unknown source or step `tz`\n  hint: Known: a, tx",
    ),
    (
        "an unknown output",
        step("{from: tx.late, where: amount > 1}"),
        "p.yaml:5:13: unknown output `tx.late`\n  hint: Known: tx",
    ),
    (
        "a route without its output",
        step("{from: tx, route: {big: amount > 1}}") + "  b: {from: a, where: amount > 2}\n",
        "p.yaml:6:13: unknown output `a`\n  hint: Known: a.big",
    ),
    (
        "a list for from",
        step("{from: [tx, tx], where: amount > 1}"),
        "p.yaml:5:13: expected one stream, got a list\n  hint: combine streams with union: [a, b]",
    ),
    (
        "a union of one",
        step("{union: [tx]}"),
        "p.yaml:5:14: expected a list of two or more streams, got 1\n  hint: such as [big, home]",
    ),
    (
        "from and union",
        step("{from: tx, union: [tx, tx]}"),
        "p.yaml:5:17: expected either `from` or `union`, got both\n  hint: list all streams in `union`",
    ),
    (
        "an unknown key of a step",
        step("{from: tx, were: amount > 1}"),
        "p.yaml:5:17: unknown key `were` in the step `a`\n"
        "  hint: did you mean `where`? Known: aggregate, alert, assign_window, changelog, detect, distinct, drop, emit, "
        "engine, event_time, expand, expect, filter, flat_map, from, ingestion_time, join, join_as_of, key_by, latest, learn, lookup, map, "
        "map_batches, match, match_rules, over, predict, process, processing_time, route, select, smooth, sql, top_n, ttl, union, "
        "where, window, with_columns",
    ),
    (
        "two verbs in a step",
        step("{from: tx, distinct: id, aggregate: {n: count(*)}}"),
        "p.yaml:5:17: a step has one operation, got `aggregate` and `distinct`\n"
        "  hint: split it into two steps",
    ),
    (
        "key_by without aggregate",
        step("{from: tx, key_by: card}"),
        "p.yaml:5:17: `key_by` needs `aggregate` or `alert` or `assign_window` or `detect` or `join` or `latest` or `learn` or `match` "
        "or `match_rules` or `process` or `smooth` or `top_n` in the same step\n"
        "  hint: such as aggregate: {n: count(*)}",
    ),
    (
        "window without aggregate",
        step("{from: tx, window: {tumbling: 1 hour}}"),
        "p.yaml:5:17: `window` needs `aggregate` or `join` or `top_n` in the same step\n  hint: such as aggregate: {n: count(*)}",
    ),
    (
        "emit without window",
        step("{from: tx, emit: {lateness: 1 hour}, aggregate: {n: count(*)}}"),
        "p.yaml:5:17: `emit` needs `window` in the same step\n  hint: such as window: {tumbling: 10 minutes}",
    ),
    (
        "an empty aggregate",
        step("{from: tx, aggregate: {}}"),
        "p.yaml:5:28: expected names and aggregates, got an empty mapping\n  hint: such as {n: count(*)}",
    ),
    (
        "a list for aggregate",
        step("{from: tx, aggregate: [count(*)]}"),
        "p.yaml:5:28: expected names and aggregates, got a list\n  hint: such as {n: count(*)}",
    ),
    (
        "an unknown window",
        window("{tumblin: 1 hour}"),
        "p.yaml:5:26: unknown window `tumblin`\n"
        "  hint: did you mean `tumbling`? Known: attached, count, cumulating, delta, global, landmark, "
        "punctuation, session, sliding, trailing, tumbling",
    ),
    (
        "two windows",
        window("{tumbling: 1 hour, session: 1 minute}"),
        "p.yaml:5:25: expected one window, got the keys tumbling, session\n"
        "  hint: such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}",
    ),
    (
        "a window without its size",
        window("{tumbling: {offset: 1 hour}}"),
        "p.yaml:5:36: `size` of the window `tumbling` is missing\n"
        "  hint: such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}",
    ),
    (
        "a window without arguments",
        window("{sliding: 1 hour}"),
        "p.yaml:5:35: expected the keys of the window `sliding`, got `1 hour`\n"
        "  hint: such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}",
    ),
    (
        "an unknown argument of a window",
        window("{sliding: {size: 1 hour, step: 1 minute, every: 1 minute}}"),
        "p.yaml:5:50: unknown key `step` in the window `sliding`\n  hint: Known: every, offset, size",
    ),
    (
        "a window of no length",
        window("{session: 0 seconds}"),
        "p.yaml:5:35: expected a duration above zero, got `0 seconds`",
    ),
    (
        "a sliding window with gaps",
        window("{sliding: {size: 1 minute, every: 1 hour}}"),
        "p.yaml:5:35: expected `every` of at most the size (1 minute), got 1 hour\n"
        "  hint: with a longer step some rows would be in no window",
    ),
    (
        "a count that is text",
        window("{count: many}"),
        "p.yaml:5:33: expected a whole number of rows, 1 or more, got `many`",
    ),
    (
        "a count of nothing",
        window("{count: {size: 0}}"),
        "p.yaml:5:40: expected a whole number of rows, 1 or more, got `0`",
    ),
    (
        "an unknown order",
        window("{count: {size: 5, order: arival}}"),
        "p.yaml:5:50: expected one of event_time, arrival, got `arival`\n"
        "  hint: did you mean `arrival`? Known: arrival, event_time",
    ),
    (
        "a delta that is text",
        window("{delta: {of: amount, by: little}}"),
        "p.yaml:5:50: expected a number that is not negative, got `little`",
    ),
    (
        "a negative delta",
        window("{delta: {of: amount, by: -1}}"),
        "p.yaml:5:50: expected a number that is not negative, got `-1`",
    ),
    (
        "half a landmark",
        window("{landmark: {reset: 1 day}}"),
        "p.yaml:5:36: expected either `when`, or `reset` and `step`\n"
        "  hint: landmark(when=\"kind = 'open'\") or landmark(reset='1 day', step='1 hour')",
    ),
    (
        "a landmark whose steps do not fit",
        window("{landmark: {reset: 1 hour, step: 7 minutes}}"),
        "p.yaml:5:36: expected `reset` to be a multiple of `step`, got 1 hour and 7 minutes",
    ),
    (
        "an unknown trigger",
        emit("{early: {evry: 1 minute}}"),
        "p.yaml:5:60: unknown trigger `evry`\n"
        "  hint: did you mean `every`? Known: after_count, after_watermark, all_of, any_of, every, "
        "in_sequence, or_finally, repeatedly",
    ),
    (
        "two triggers in one mapping",
        emit("{early: {every: 1 minute, after_count: 1}}"),
        "p.yaml:5:59: expected one trigger, got the keys every, after_count\n"
        "  hint: such as {every: 30 seconds} or {after_count: 100}",
    ),
    (
        "a trigger after no rows",
        emit("{early: {after_count: 0}}"),
        "p.yaml:5:73: expected a whole number of rows, 1 or more, got `0`",
    ),
    (
        "a trigger without a list",
        emit("{early: {any_of: {after_count: 1}}}"),
        "p.yaml:5:68: expected a list of triggers, got a mapping\n"
        "  hint: such as {any_of: [{every: 1 minute}, {after_count: 100}]}",
    ),
    (
        "or_finally without a list",
        emit("{early: {or_finally: 5}}"),
        "p.yaml:5:72: expected a list of two triggers, got `5`\n  hint: such as {or_finally: [trigger, until]}",
    ),
    (
        "or_finally with one trigger",
        emit("{early: {or_finally: [{after_count: 1}]}}"),
        "p.yaml:5:72: expected a list of two triggers, got 1\n  hint: such as {or_finally: [trigger, until]}",
    ),
    (
        "an unknown part of after_watermark",
        emit("{trigger: {after_watermark: {erly: {after_count: 1}}}}"),
        "p.yaml:5:80: unknown key `erly` in after_watermark\n"
        "  hint: did you mean `early`? Known: early, late",
    ),
    (
        "both forms of emit",
        emit("{trigger: {after_count: 1}, early: {after_count: 1}}"),
        "p.yaml:5:51: expected either `trigger`, or `early` and `late`, got both\n"
        "  hint: early and late are short for trigger=after_watermark(early=..., late=...)",
    ),
    (
        "an unknown mode",
        emit("{mode: retract}"),
        "p.yaml:5:58: expected one of discarding, accumulating, retracting, got `retract`\n"
        "  hint: did you mean `retracting`? Known: accumulating, discarding, retracting",
    ),
    (
        "an unknown key of emit",
        emit("{latenes: 1 hour}"),
        "p.yaml:5:52: unknown key `latenes` in emit\n"
        "  hint: did you mean `lateness`? Known: allow_loss, early, late, late_rows, lateness, mode, trigger",
    ),
    ("a text for a flag", emit("{allow_loss: please}"), "p.yaml:5:64: expected true or false, got `please`"),
    (
        "an empty condition",
        step("{from: tx, where: }"),
        "p.yaml:5:23: expected a condition in Spark SQL, got nothing",
    ),
    (
        "a list for a condition",
        step("{from: tx, where: [a]}"),
        "p.yaml:5:24: expected a condition in Spark SQL, got a list",
    ),
    (
        "text for with_columns",
        step("{from: tx, with_columns: a as b}"),
        "p.yaml:5:31: expected names and expressions, got `a as b`\n  hint: such as {double: amount * 2}",
    ),
    (
        "an empty select",
        step("{from: tx, select: []}"),
        "p.yaml:5:25: expected columns, got an empty list\n"
        "  hint: such as [card, amount * 2 as double] or {double: amount * 2}",
    ),
    (
        "an empty drop",
        step("{from: tx, drop: []}"),
        "p.yaml:5:23: expected columns, got an empty list",
    ),
    (
        "distinct without on",
        step("{from: tx, distinct: {within: 1 hour}}"),
        "p.yaml:5:27: `on` of distinct is missing\n  hint: such as {on: [id], within: 10 minutes}",
    ),
    (
        "lookup without on",
        step("{from: tx, lookup: {files: {path: h.csv}, schema: id string}}"),
        "p.yaml:5:25: `on` of lookup is missing\n"
        "  hint: such as {files: {path: homes.csv, format: csv}, on: card}",
    ),
    (
        "lookup without a table",
        step("{from: tx, lookup: {on: id}}"),
        f"p.yaml:5:25: lookup has no connector\n  hint: one of {', '.join(TABLES)}: {{...}}",
    ),
    (
        "a concurrency that is text",
        step("{from: tx, lookup: {files: {path: h.csv}, on: id, concurrency: many}}"),
        "p.yaml:5:69: expected a whole number, got `many`",
    ),
    (
        "an unknown kind of lookup",
        step("{from: tx, lookup: {files: {path: h.csv}, on: id, how: outer}}"),
        "p.yaml:5:61: expected one of inner, left, got `outer`\n  hint: Known: inner, left",
    ),
    (
        "an empty route",
        step("{from: tx, route: {}}"),
        "p.yaml:5:24: expected outputs and conditions, got an empty mapping\n"
        "  hint: such as {foreign: country <> 'FI', rest: true}",
    ),
    (
        "select after route",
        step("{from: tx, route: {big: amount > 1}, select: id}"),
        "p.yaml:5:51: `select` cannot follow `route`\n  hint: split it into two steps",
    ),
    (
        "SQL that is none",
        step("{sql: selec 1}"),
        "p.yaml:5:12: SQL syntax error at line 1, column 7: invalid expression / Unexpected token",
    ),
    (
        "SQL that can't be parsed",
        step("{sql: select * from where}"),
        "p.yaml:5:12: SQL syntax error at line 1, column 19: expected table name but got `where`",
    ),
    (
        "SQL that changes something",
        step("{sql: drop table tx}"),
        "p.yaml:5:12: expected one select query\n  hint: write `select ... from <stream> ...`",
    ),
    (
        "SQL over an unknown stream",
        step("{sql: select * from tz}"),
        "p.yaml:5:12: the query reads an unknown source or step `tz`\n  hint: Known: a, tx",
    ),
    (
        "SQL that doesn't read this",
        step("{from: tx, sql: select * from tx}"),
        "p.yaml:5:22: the query does not read `this`, the stream of `from`\n  hint: remove `from`",
    ),
    (
        "SQL with a condition but nothing to read",
        step("{where: amount > 1, sql: select * from tx}"),
        "p.yaml:5:6: a step without `from` must start with `sql`\n  hint: move the condition into the query",
    ),
    (
        "steps in a circle",
        TX + "steps:\n  a: {from: c, where: amount > 1}\n  b: {from: a, where: amount > 2}\n  c: {from: b, "
        "where: amount > 3}\n",
        "p.yaml:5:3: the steps form a cycle: a -> c -> b -> a\n  hint: let one of them read another stream",
    ),
    (
        "a step that reads itself",
        step("{from: a, where: amount > 1}"),
        "p.yaml:5:3: the steps form a cycle: a -> a\n  hint: let one of them read another stream",
    ),
    (
        "a pattern without steps",
        step("{from: tx, key_by: card, match: {steps: []}}"),
        "p.yaml:5:46: expected a list of steps, got an empty list\n"
        "  hint: such as steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}]",
    ),
    (
        "a sink without from",
        TX + "sinks:\n  out: {memory: {}}\n",
        "p.yaml:5:8: `from` of the sink is missing\n  hint: such as {from: totals, console: {}}",
    ),
    (
        "a sink without a connector",
        TX + "sinks:\n  out: {from: tx}\n",
        f"p.yaml:5:8: the sink has no connector\n  hint: one of {', '.join(SINKS)}: {{...}}",
    ),
    (
        "a sink of an unknown step",
        TX + "sinks:\n  out: {from: totals, memory: {}}\n",
        "p.yaml:5:15: unknown source or step `totals`\n  hint: Known: tx",
    ),
    (
        "an unknown mode of a sink",
        TX + "sinks:\n  out: {from: tx, memory: {}, mode: upsert}\n",
        "p.yaml:5:37: expected one of append, update, changes, complete, got `upsert`\n"
        "  hint: Known: append, changes, complete, update",
    ),
    (
        "several faults at once",
        "name: my pipeline\nsources:\n  tx: {files: {pth: in/, max_files_per_batch: 0}, format: "
        "jsn}\nsteps:\n  a: {from: tx, were: b}\n  b: {from: tz, where: c}\n",
        "p.yaml:1:7: expected a name of letters, digits, _ and -, got `my pipeline`\n"
        "  hint: rename the pipeline\n"
        "p.yaml:3:15: files: option `path` is missing\n"
        "  hint: `path` is a directory; a source also reads a file or a glob such as `in/2026-*/*.json.gz`\n"
        "p.yaml:3:16: files: unknown option `pth`\n"
        "  hint: did you mean `path`? Known: format, max_files_per_batch, partition_by, path, schema\n"
        "p.yaml:3:47: files: max_files_per_batch: expected a number of at least 1, got 0\n"
        "  hint: `max_files_per_batch` is the maximum number of files per epoch; default: no limit\n"
        "p.yaml:3:59: unknown format `jsn`\n"
        "  hint: did you mean `json`? Known: avro, csv, json, parquet, protobuf, raw, text\n"
        "p.yaml:5:17: unknown key `were` in the step `a`\n"
        "  hint: did you mean `where`? Known: aggregate, alert, assign_window, changelog, detect, distinct, drop, emit, "
        "engine, event_time, expand, expect, filter, flat_map, from, ingestion_time, join, join_as_of, key_by, latest, learn, lookup, map, "
        "map_batches, match, match_rules, over, predict, process, processing_time, route, select, smooth, sql, top_n, ttl, union, "
        "where, window, with_columns\n"
        "p.yaml:6:13: unknown source or step `tz`\n"
        "  hint: Known: a, b, tx",
    ),
    (
        "a ttl below the resolution of the watermark",
        step("{from: tx, window: global, ttl: 1 microsecond, aggregate: {n: count(*)}}"),
        "p.yaml:5:38: expected a millisecond or more, got `1 microsecond`",
    ),
    (
        "a port that is no number",
        source("{postgres: {url: 'postgresql://db:x/shop', table: t}, schema: a int}"),
        "p.yaml:3:24: postgres: url: expected postgresql://user:password@host:port/database, "
        "got 'postgresql://db:x/shop'\n"
        "  hint: `url` is the address: `<kind>://user:password@host:port/database`",
    ),
    (
        "a port that is too large",
        source("{redis: {url: 'redis://cache:65536', stream: s}, schema: a string}"),
        "p.yaml:3:21: redis: url: expected redis://user:password@host:6379/0, got 'redis://cache:65536'\n"
        "  hint: `url` is the server: `redis://user:password@host:6379/0`, with TLS `rediss://`",
    ),
    (
        "a mapping in the list of metadata",
        source("{kafka: {servers: 'h:1', topic: t, metadata: [key: k]}, format: json, schema: a int}"),
        "p.yaml:3:52: kafka: metadata: expected a list of fields, or a mapping from fields to different column "
        "names, got [{'key': 'k'}]\n"
        "  hint: `metadata` is metadata that become columns, some of key, key_bytes, topic, partition, offset, "
        "timestamp, headers; with other column names as a mapping, such as `{timestamp: sent_at}`",
    ),
    (
        "no sources",
        "name: p\n",
        "p.yaml:1:1: the document has no sources\n  hint: add `sources:` with at least one source",
    ),
]
PLANS: list[tuple[str, str, str]] = [
    (
        "bytes without a format",
        source("{files: {path: in/}, schema: a int}"),
        "p.yaml:3:3: `tx`: files delivers bytes; set `format`\n"
        "  hint: add `format: json`, `avro`, `csv`, `protobuf`, `text` or `raw`",
    ),
    (
        "rows without a schema",
        source("{memory: {}}"),
        "p.yaml:3:3: `tx`: schema is missing\n  hint: add schema: id string, at timestamp, ...",
    ),
    (
        "event time that is no timestamp",
        source("{memory: {}, schema: ts string, event_time: ts}"),
        "p.yaml:3:51: event_time after `tx`: event time must be a timestamp; `ts` is string\n"
        "  hint: convert it with `with_columns`",
    ),
    (
        "event time that is no column",
        source("{memory: {}, schema: ts timestamp, event_time: {column: t}}"),
        "p.yaml:3:54: event_time after `tx`: unknown event time column `t`\n"
        "  hint: did you mean `ts`? Known: ts",
    ),
    (
        "a key that is no column",
        step("{from: tx, key_by: crd, aggregate: {n: count(*)}}"),
        "p.yaml:5:25: `a`: unknown key column `crd`\n"
        "  hint: did you mean `card`? Known: amount, card, id, ts",
    ),
    (
        "a window without time",
        "name: p\nsources:\n  tx: {memory: {}, schema: a int}\nsteps:\n  a:\n    from: tx\n    where: a > "
        "1\n    window: {tumbling: 1 hour}\n    aggregate: {n: count(*)}\n",
        "p.yaml:8:13: `a`: window needs rows with time\n"
        "  hint: add `event_time: column`, `ingestion_time` or `processing_time` before",
    ),
    (
        "a trigger that may lose rows",
        emit("{trigger: {after_count: 5}}"),
        "p.yaml:5:51: `a`: this trigger may leave rows unemitted\n"
        "  hint: wrap it in repeatedly, use `late: {after_count: 1}`, or set `allow_loss: true`",
    ),
    (
        "a drop of no column",
        TX + "steps:\n  a:\n    from: tx\n    distinct: id\n    drop: idd\n",
        "p.yaml:8:11: drop after `a`: unknown drop column `idd`\n"
        "  hint: did you mean `id`? Known: amount, card, id, ts",
    ),
    (
        "appending a running aggregate",
        step("{from: tx, aggregate: {n: count(*)}}") + "sinks:\n  out: {from: a, memory: {}, mode: append}\n",
        "p.yaml:7:36: `out`: a running aggregate changes its rows, so mode append is not possible\n"
        "  hint: use `mode: update`, `changes` or `complete`",
    ),
    (
        "distinct on no column",
        TX + "steps:\n  a:\n    from: tx\n    distinct: {on: idd}\n",
        "p.yaml:7:20: `a`: unknown distinct column `idd`\n"
        "  hint: did you mean `id`? Known: amount, card, id, ts",
    ),
    (
        "a lookup on no column",
        TX + "steps:\n  a:\n    from: tx\n    lookup: {memory: {}, schema: crd string, on: crd}\n",
        "p.yaml:7:50: `a`: unknown lookup column `crd`\n"
        "  hint: did you mean `card`? Known: amount, card, id, ts",
    ),
    (
        "a name that is key and aggregate",
        TX + "steps:\n  a:\n    from: tx\n    key_by: card\n    aggregate: {card: count(*)}\n",
        "p.yaml:8:23: `a`: two columns are called `card`\n  hint: keys and aggregates need different names",
    ),
    (
        "a step's event time that is no column",
        TX + "steps:\n  a:\n    from: tx\n    event_time: {column: tz}\n",
        "p.yaml:7:17: `a`: unknown event time column `tz`\n  hint: Known: amount, card, id, ts",
    ),
    (
        "a sink's key that is no column",
        TX + "sinks:\n  out: {from: tx, sqlite: {path: a.db, table: t, key: [idd]}}\n",
        "p.yaml:5:56: `out`: unknown key column `idd`\n"
        "  hint: did you mean `id`? Known: amount, card, id, ts",
    ),
    (
        "a distinct over rows that change",
        TX
        + "steps:\n  a: {from: tx, window: {tumbling: 1 hour}, emit: {early: {every: 1 minute}}, aggregate: "
        "{n: count(*)}}\n  b:\n    from: a\n    distinct: {on: [n], within: 1 day}\n",
        "p.yaml:7:11: `b`: its input `a` emits changed rows again, which would be counted twice\n"
        "  hint: let the previous step fire once (no early or late firings), or write a table and read that",
    ),
    (
        "a sink that can't be read from",
        source("{console: {}, schema: a int, format: text}"),
        "p.yaml:3:3: `tx`: console cannot be read from\n  hint: it is a sink only",
    ),
    (
        "late rows counted by a window Spark lacks",
        step("{from: tx, window: {count: 5}, emit: {late_rows: count}, aggregate: {n: count(*)}}"),
        'p.yaml:5:43: `a`: engine="native" runs on Spark\'s own operators, which have no count window\n'
        "  hint: remove engine",
    ),
    (
        "an unknown column in the third aggregate",
        TX + "steps:\n  a:\n    from: tx\n    aggregate:\n      n: count(*)\n      least: min(amount)\n"
        "      most: max(amuont)\n",
        "p.yaml:10:17: `a`: unknown column `amuont`\n"
        "  hint: did you mean `amount`? Known: amount, card, id, least, most, n, ts",
    ),
    (
        "an unknown function in a quoted item",
        TX + "steps:\n  a: {from: tx, with_columns: {x: amount, y: '1 + summ(amount)'}}\n",
        "p.yaml:5:51: `a`: unknown function `summ`\n  hint: did you mean `sum`?",
    ),
    (
        "an unknown column and an unnamed one in a list",
        TX + "steps:\n  a: {from: tx, select: [idd, {x: amount * ammount}]}\n",
        "p.yaml:5:26: `a`: unknown column `idd`\n  hint: did you mean `id`? Known: amount, card, id, ts, x\n"
        "p.yaml:5:44: `a`: unknown column `ammount`\n"
        "  hint: did you mean `amount`? Known: amount, card, id, ts, x",
    ),
    (
        "an unknown column of the second key",
        TX + "steps:\n  a: {from: tx, key_by: [card, idd], aggregate: {n: count(*)}}\n",
        "p.yaml:5:32: `a`: unknown key column `idd`\n  hint: did you mean `id`? Known: amount, card, id, ts",
    ),
    (
        "an unknown column in a condition, and in a literal",
        TX + "steps:\n  a: {from: tx, where: card = 'crad' and crad is null}\n",
        "p.yaml:5:42: `a`: unknown column `crad`\n  hint: did you mean `card`? Known: amount, card, id, ts",
    ),
    (
        "a syntax error in a branch",
        TX + "steps:\n  a: {from: tx, route: {large: amount > 1, small: (amount < 1}}\n",
        "p.yaml:5:61: `a`: syntax error in `(amount < 1`: expecting ) at column 11\n"
        "  hint: 1 opening and 0 closing parentheses",
    ),
    (
        "an expression over several lines is located at its beginning",
        TX + "steps:\n  a:\n    from: tx\n    select:\n      x: >\n        amount\n        * ammount\n",
        "p.yaml:8:10: `a`: unknown column `ammount`\n"
        "  hint: did you mean `amount`? Known: amount, card, id, ts, x",
    ),
]


@pytest.mark.parametrize(("document", "message"), [pytest.param(d, m, id=title) for title, d, m in DOCUMENTS])
def test_an_error_has_position_problem_and_hint(document: str, message: str) -> None:
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml_text(document, file="p.yaml", environment={"PIPELINE": "p"})
    assert str(raised.value) == message


@pytest.mark.parametrize(("document", "message"), [pytest.param(d, m, id=title) for title, d, m in PLANS])
def test_plan_errors_have_the_positions_of_the_document(document: str, message: str) -> None:
    pipeline = Pipeline.from_yaml_text(document, file="p.yaml")
    with pytest.raises(PlanError) as raised:
        pipeline.check()
    assert str(raised.value) == message


def test_errors_of_grammar_and_of_the_plan_are_reported_together() -> None:
    document = TX + "steps:\n  a: {from: tx, whre: amount > 1}\n  b: {from: tx, where: amuont > 1}\n"
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml_text(document, file="p.yaml")
    locations = [Location.parse(problem.where) for problem in raised.value.problems]
    assert [(each.line, each.column, each.label) for each in locations if each] == [
        (5, 17, ""),
        (6, 24, "`b`"),
    ]


def test_an_expression_with_a_variable_is_located_at_its_beginning() -> None:
    document = TX + "steps:\n  a: {from: tx, where: '${LEAST} < amuont'}\n"
    pipeline = Pipeline.from_yaml_text(document, file="p.yaml", environment={"LEAST": "100"})
    with pytest.raises(PlanError, match=r"^p.yaml:5:24: `a`: unknown column `amuont`"):
        pipeline.check()


def test_an_error_of_a_plan_in_python_names_the_item() -> None:
    rows = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
    rows.key_by("crad").aggregate("totals", n="count(*)", most="max(amuont)")
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    locations = [problem.where for problem in raised.value.problems]
    assert all(isinstance(each, Location) and each.file == Path(__file__).name for each in locations)
    assert [getattr(each, "label", "") for each in locations] == ["`totals`", "`totals`: most"]


def test_a_location_is_the_same_in_another_process() -> None:
    [problem] = pickle.loads(pickle.dumps(PlanError([Problem(Location("p", 1, 2, "`a`"), "no")]))).problems
    assert isinstance(problem.where, Location)
    assert (problem.where.line, problem.where.column, problem.where.label) == (1, 2, "`a`")


def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml("fraud.yaml")
    assert (
        str(raised.value)
        == f"fraud.yaml: the file does not exist\n  hint: the current directory is {tmp_path}"
    )


def test_a_file_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml(tmp_path)
    assert str(raised.value) == f"{tmp_path}: the file cannot be read: Is a directory"


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("name: p\n# Käse".encode("latin-1"))
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml(tmp_path / "latin.yaml")
    assert str(raised.value) == (
        f"{tmp_path / 'latin.yaml'}: expected UTF-8 text, got the byte 0xe4 at 11\n  hint: save it as UTF-8"
    )
