"""Random queries that stream SQL and Spark's batch SQL read alike, and rows for them in which none is late."""

from __future__ import annotations

import random
from typing import Any

COLUMNS = {"a": "id INT, k STRING, v INT, ts TIMESTAMP", "b": "id INT, k STRING, w INT, at TIMESTAMP"}
TIMES = {"a": "ts", "b": "at"}
_VALUES = {"a": "v", "b": "w"}
_KEYS = ("x", "y", "z", None)


def random_rows(chance: random.Random, table: str, count: int = 12) -> list[dict[str, Any]]:
    """Return rows whose times increase; keys and values repeat, and some are null."""
    rows, second = [], 0
    for number in range(count):
        second += chance.randint(1, 6)
        value = chance.choice([None, *range(-2, 6)])
        row = {"id": number, "k": chance.choice(_KEYS), _VALUES[table]: value}
        rows.append(row | {TIMES[table]: f"2026-01-01T10:{second // 60:02}:{second % 60:02}Z"})
    return rows


class RandomQueries:
    """Draws queries from the grammar that stream SQL supports."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def query(self) -> str:
        kinds = (
            self._plain, self._grouped, self._distinct, self._union, self._joined, self._semi, self._scalar,
            self._ranked, self._over, self._windowed, self._twice, self._sets, self._common,
        )  # fmt: skip
        return self.chance.choice(kinds)()

    def _pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def _table(self) -> tuple[str, str]:
        table = self._pick("a", "b")
        return table, _VALUES[table]

    def _value(self, value: str) -> str:
        number = self.chance.randint(1, 3)
        return self._pick(
            value, f"{value} * {number}", f"coalesce({value}, {number})", f"abs({value} - {number})",
            f"case when {value} > {number} then {value} else -{number} end", f"{value} + id",
        )  # fmt: skip

    def _condition(self, value: str) -> str:
        number = self.chance.randint(-1, 4)
        condition = self._pick(
            f"{value} > {number}", f"{value} is not null", f"k = '{self._pick('x', 'y')}'", f"{value} in (1, 2, {number})",
            f"id between {number} and 9", "k like 'x%'", f"not {value} < {number}", f"{value} <=> {number}", "k is null",
        )  # fmt: skip
        return self._pick(condition, condition, f"({condition} or {value} = {number})")

    def _where(self, value: str) -> str:
        return self._pick("", f" where {self._condition(value)}")

    def _aggregate(self, value: str) -> str:
        call = self._pick(
            "count(*)", f"count({value})", f"sum({self._value(value)})", f"min({value})", f"max({value})", f"avg({value})",
            f"count(distinct {value})", f"sum(distinct {value})", f"max({value}) - min({value})",
        )  # fmt: skip
        plain = " - " not in call and self.chance.random() < 0.3
        return f"{call} filter (where {self._condition(value)})" if plain else call

    def _aggregates(self, value: str) -> str:
        return ", ".join(f"{self._aggregate(value)} as m{n}" for n in range(self.chance.randint(1, 3)))

    def _plain(self) -> str:
        table, value = self._table()
        return f"select id, {self._value(value)} as x, upper(k) as u from {table}{self._where(value)}"

    def _grouped(self) -> str:
        table, value = self._table()
        key = self._pick("k", "id % 3", "k, id % 2")
        names = ", ".join(f"{part} as g{n}" for n, part in enumerate(key.split(", ")))
        having = self._pick(
            "", " having count(*) > 1", f" having max({value}) > 1", f" having sum({value}) is not null"
        )
        return f"select {names}, {self._aggregates(value)} from {table}{self._where(value)} group by {key}{having}"

    def _distinct(self) -> str:
        table, value = self._table()
        return f"select distinct {self._pick('k', value, f'k, {value}')} from {table}{self._where(value)}"

    def _union(self) -> str:
        union = self._pick("union", "union all")
        return f"select k, v from a{self._where('v')} {union} select k, w from b{self._where('w')}"

    def _joined(self) -> str:
        side = self._pick("join", "left join", "right join", "full join")
        extra = self._pick("", " and a.v < b.w", " and b.w > 1", " and a.id <> b.id")
        where = self._pick("", " where a.v > 1", " where b.w is null or b.w > 0")
        return f"select a.id as i, b.id as j, a.v, b.w from a {side} b on a.k = b.k{extra}{where}"

    def _semi(self) -> str:
        inner = f"select k from b{self._where('w')}"
        condition = self._pick(
            f"k in ({inner})",
            f"exists (select 1 from b where b.k = a.k and {self._pick('b.w > 1', 'b.w < a.v')})",
            f"not exists (select 1 from b where b.k = a.k and {self._pick('b.w > 1', 'b.w = a.v')})",
        )
        return f"select id, k, v from a where {condition}"

    def _scalar(self) -> str:
        return f"select id, v from a where v {self._pick('>', '<=', '=')} (select {self._pick('avg', 'max', 'min')}(w) from b)"

    def _ranked(self) -> str:
        table, value = self._table()
        function, order = self._pick(
            f"row_number()/{value} desc, id",
            "row_number()/id",
            f"rank()/{value}",
            f"dense_rank()/{value} desc",
        ).split("/")
        partition = self._pick("", "partition by k ")
        rank = f"{function} over ({partition}order by {order}) as r"
        return f"select id, k, r from (select *, {rank} from {table}{self._where(value)}) where r <= {self.chance.randint(1, 3)}"

    def _over(self) -> str:
        table, value = self._table()
        time = TIMES[table]
        call = self._pick(
            f"sum({value}) over (partition by k order by {time} rows between {self.chance.randint(1, 3)} preceding and current row)",
            f"count(*) over (partition by k order by {time})",
            f"max({value}) over (order by {time} range between interval '10' second preceding and current row)",
            f"lag({value}) over (partition by k order by {time})",
            f"avg({value}) over (partition by k order by {time} rows between unbounded preceding and current row)",
        )  # fmt: skip
        return f"select id, {call} as x from {table}{self._where(value)}"

    def _windowed(self) -> str:
        table, value = self._table()
        time = TIMES[table]
        window = self._pick(
            f"window({time}, '10 seconds')", f"window({time}, '20 seconds', '5 seconds')", f"session_window({time}, '4500 milliseconds')"
        )  # fmt: skip
        name = window.partition("(")[0]
        bounds = f"{name}.start as s, {name}.end as e"
        return f"select k, {bounds}, {self._aggregates(value)} from {table}{self._where(value)} group by k, {window}"

    def _twice(self) -> str:
        table, value = self._table()
        inner = f"select k, {self._aggregate(value)} as m, count(*) as n from {table}{self._where(value)} group by k"
        return f"select n, count(*) as keys, max(m) as m, sum(n) as total from ({inner}) group by n"

    def _sets(self) -> str:
        table, value = self._table()
        sets = self._pick(
            "grouping sets ((g), (h), ())", "cube (g, h)", "rollup (g, h)", "grouping sets ((g, h), (g))"
        )
        rows = f"select k as g, id % 2 as h, k, id, {value} from {table}{self._where(value)}"
        return f"select g, h, {self._aggregates(value)} from ({rows}) group by {sets}"

    def _common(self) -> str:
        table, value = self._table()
        first = f"select k, max({value}) as top from {table}{self._where(value)} group by k"
        return f"with tops as ({first}) select t.k, t.top, r.id from tops t join {table} r on t.k = r.k and t.top = r.{value}"
