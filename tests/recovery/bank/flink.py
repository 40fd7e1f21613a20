"""The bank test in Flink SQL: how many of the totals that it shows are impossible."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.engines.flink import Flink

BALANCES = """SELECT account, sum(amount) AS balance FROM (
    SELECT debited AS account, -amount AS amount FROM transfers
    UNION ALL SELECT credited, amount FROM transfers) GROUP BY account"""
JOINED = """SELECT coalesce(c.credit, 0) - coalesce(d.debit, 0) AS balance FROM
    (SELECT credited AS account, sum(amount) AS credit FROM transfers GROUP BY credited) c
    FULL JOIN (SELECT debited AS account, sum(amount) AS debit FROM transfers GROUP BY debited) d
    ON c.account = d.account"""


def count_totals(work: Path) -> dict[str, list[int]]:
    """Return the totals that Flink SQL emits for the input of a directory, of the balances and of the live join."""
    lines = [line for file in sorted((work / "in").iterdir()) for line in file.read_text().splitlines()]
    transfers = [json.loads(line) for line in lines]
    rows = ", ".join(f"({each['debited']}, {each['credited']}, {each['amount']})" for each in transfers)
    with Flink(parallelism=2, checkpoints=None) as flink:
        flink.sql(
            f"CREATE TEMPORARY VIEW transfers AS SELECT * FROM (VALUES {rows}) AS t (debited, credited, amount)"
        )
        return {
            name: _totals(flink, f"SELECT sum(balance) FROM ({query})")
            for name, query in (("balances", BALANCES), ("live join", JOINED))
        }


def _totals(flink: Flink, query: str) -> list[int]:
    changes = flink.changes(query)
    return [int(total or 0) for kind, (total,) in changes if kind in ("+I", "+U")]
