"""The shape of a query: where it aggregates, joins and filters, and which columns it passes on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headrace.sql.functions import spark_functions

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_WINDOWS = ("window", "session_window")


@dataclass(frozen=True)
class QueryShape:
    """The parsed query of a `sql` step."""

    tree: exp.Query

    @cached_property
    def groups(self) -> list[exp.Select]:
        """The selects that aggregate, the outermost first."""
        from sqlglot import expressions as exp

        return [select for select in self.tree.find_all(exp.Select) if _is_group(select)]

    @cached_property
    def joins(self) -> list[exp.Join]:
        """The joins of tables and subqueries, without generators such as `explode`."""
        from sqlglot import expressions as exp

        joins = self.tree.find_all(exp.Join)
        return [join for join in joins if join.find(exp.Table) and not isinstance(join.this.this, exp.Func)]

    @cached_property
    def windows(self) -> list[exp.Expr]:
        """The calls of `window` and `session_window` that a GROUP BY has."""
        return [key for key in self.group_keys if _is_window(key)]

    @cached_property
    def group_keys(self) -> list[exp.Expr]:
        """The expressions of the outermost GROUP BY; names and numbers of selected columns are resolved."""
        from sqlglot import expressions as exp

        group = self.groups[0].args.get("group") if self.groups else None
        if group is None:
            return []
        items = [item.unalias() for item in self.groups[0].expressions]
        if group.args.get("all"):
            return [item for item in items if not any(is_aggregate(node) for node in item.walk())]
        named = {item.alias.lower(): item.unalias() for item in self.groups[0].expressions if item.alias}
        parts = [part for key in group.expressions for part in _members(key)]
        return [
            items[int(key.name) - 1]
            if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(items)
            else named.get(key.name.lower(), key)
            if isinstance(key, exp.Column) and not key.table
            else key
            for key in parts
        ]

    @cached_property
    def time_column(self) -> str | None:
        """The column of the only window of GROUP BY, if it is a plain column of the only table."""
        from sqlglot import expressions as exp

        arguments = [window.expressions[0] for window in self.windows if window.expressions]
        if len(arguments) != 1 or not isinstance(arguments[0], exp.Column):
            return None
        return self._source(self.groups[0], arguments[0].name)

    @cached_property
    def row_wise(self) -> exp.Select | None:
        """The query, if it only selects columns and rows of one table without subqueries; else None."""
        from sqlglot import expressions as exp

        tree = self.tree
        if not isinstance(tree, exp.Select) or self.groups or tree.args.get("joins"):
            return None
        plain = tree.find(exp.With, exp.Subquery, exp.SetOperation) is None
        source = tree.args.get("from_")
        return tree if plain and source is not None and isinstance(source.this, exp.Table) else None

    @property
    def filters(self) -> bool:
        """True if it can drop rows, or multiply them."""
        from sqlglot import expressions as exp

        return self.tree.find(exp.Where, exp.Having, exp.Lateral, exp.UDTF) is not None

    def keeps(self, column: str) -> bool:
        """Return True if a query over one table passes a column on under its name."""
        return self.row_wise is not None and _passes(self.row_wise, column) == column

    def _source(self, select: exp.Select, column: str) -> str | None:
        """Return the column of the table that an input column of a select is; None if it is computed."""
        from sqlglot import expressions as exp

        source = select.args.get("from_")
        if source is None or select.args.get("joins"):
            return None
        inner = source.this
        if isinstance(inner, exp.Table):
            ctes = {cte.alias.lower(): cte.this for cte in self.tree.find_all(exp.CTE)}
            if inner.name.lower() not in ctes:
                return column
            inner = ctes[inner.name.lower()]
        inner = inner.unnest() if isinstance(inner, exp.Subquery) else inner
        if not isinstance(inner, exp.Select) or inner in self.groups:
            return None
        passed = _passes(inner, column)
        return None if passed is None else self._source(inner, passed)


def is_aggregate(node: exp.Expr) -> bool:
    """Return True for a call of one of Spark's aggregate functions.

    >>> from headrace.sql.parsing import parse_statements
    >>> [query] = parse_statements("select try_sum(a), any(b), c like any ('x', 'y') from tx")
    >>> [is_aggregate(item) for item in query.expressions]
    [True, True, False]
    """
    from sqlglot import expressions as exp

    if isinstance(node, exp.Any):
        return not isinstance(node.parent, exp.Predicate)  # `c like any (...)` is a condition
    if isinstance(node, exp.Anonymous):
        return spark_functions().get(node.name.lower(), False)
    return isinstance(node, exp.AggFunc)


def conditions_of(join: exp.Join) -> list[exp.Expr]:
    """Return the conditions of a join that must all hold: those of ON, and of WHERE for an inner join."""
    where = join.parent.args.get("where") if join.parent is not None and not join.side else None
    return [
        part
        for condition in (join.args.get("on"), where.this if where is not None else None)
        if condition is not None
        for part in _conjuncts(condition)
    ]


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    from sqlglot import expressions as exp

    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _members(key: exp.Expr) -> list[exp.Expr]:
    """Return the keys of `group by (a, b)`."""
    from sqlglot import expressions as exp

    return list(key.expressions) if isinstance(key, exp.Tuple) else [key.unnest()]


def _is_group(select: exp.Select) -> bool:
    from sqlglot import expressions as exp

    if select.args.get("group") or select.args.get("having"):
        return True
    own = select.walk(prune=lambda node: node is not select and isinstance(node, exp.Query | exp.Window))
    return any(is_aggregate(node) and not isinstance(node.parent, exp.Window) for node in own)


def _is_window(key: exp.Expr) -> bool:
    from sqlglot import expressions as exp

    return isinstance(key, exp.Anonymous) and key.name.lower() in _WINDOWS


def _passes(select: exp.Select, column: str) -> str | None:
    """Return the input column that a select passes on under a name; None if it has no such column."""
    from sqlglot import expressions as exp

    stars = False
    for item in select.expressions:
        if item.is_star:
            stars = stars or column.lower() not in item.sql().lower()
        elif item.alias_or_name.lower() == column.lower():
            source = item.unalias()
            return source.name if isinstance(source, exp.Column) else None
    return column if stars else None


def fixed_columns(shape: QueryShape) -> tuple[tuple[str, str], ...]:
    """Return the selected columns that are keys of GROUP BY, each with its key.

    >>> from headrace.sql.facts import shape_of
    >>> fixed_columns(shape_of("select lower(k) as key, count(*) n from tx group by lower(k)"))
    (('key', 'LOWER(k)'),)
    """
    select = shape.groups[0]
    keys = {key.sql(): key.sql() for key in shape.group_keys}
    items = ((item.alias_or_name, item.unalias()) for item in select.expressions)
    return tuple((name, keys[item.sql()]) for name, item in items if item.sql() in keys)
