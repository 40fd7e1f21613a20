"""The shape of a query: where it aggregates, joins and filters, and which columns it passes on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headrace.sql.functions import spark_functions

if TYPE_CHECKING:
    from sqlglot import expressions as exp


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


def _is_group(select: exp.Select) -> bool:
    from sqlglot import expressions as exp

    if select.args.get("group") or select.args.get("having"):
        return True
    own = select.walk(prune=lambda node: node is not select and isinstance(node, exp.Query | exp.Window))
    return any(is_aggregate(node) and not isinstance(node.parent, exp.Window) for node in own)


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
