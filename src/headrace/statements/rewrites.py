"""Forms of queries that are other spellings of forms with steps: `QUALIFY`, `= ANY (...)`, `PROCTIME()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import expressions as exp

PROCTIME = "proctime()"
"""The column of processing time that every stream has."""
_QUALIFIED = "qualify"
_RANKED = "ranked_rows"


def rewrite(tree: exp.Query) -> exp.Query:
    """Return a query without these forms; the tree is changed.

    >>> from sqlglot import parse_one
    >>> rewrite(parse_one("select a from t where a = any (select b from s)")).sql()
    'SELECT a FROM t WHERE a IN (SELECT b FROM s)'
    """
    from sqlglot import expressions as exp

    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Values) and not isinstance(node.parent, exp.From | exp.Join):
            _rewrite_values(node)
        elif isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.right, exp.Any | exp.All):
            _rewrite_comparison(node)
        elif isinstance(node, exp.Anonymous) and node.name.lower() == "proctime" and _orders(node):
            node.replace(exp.column(PROCTIME))
        elif isinstance(node, exp.Select) and node.args.get("qualify") is not None:
            _rewrite_qualify(node)
    return tree


def select_values(values: exp.Values) -> exp.Select:
    """Return `SELECT col1, col2 FROM (VALUES ...)`, a query like any other.

    >>> from sqlglot import parse_one
    >>> select_values(parse_one("VALUES (1, 'a')")).sql(dialect="spark")
    "SELECT col1, col2 FROM VALUES (1, 'a')"
    """
    from sqlglot import expressions as exp

    row = values.expressions[0]
    width = len(row.expressions) if isinstance(row, exp.Tuple) else 1
    names: list[exp.Expr] = [exp.column(f"col{number + 1}") for number in range(width)]
    return exp.Select(expressions=names, from_=exp.From(this=values.copy()))


def _rewrite_values(node: exp.Values) -> None:
    """Replace `IN (VALUES ...)` and `EXISTS (VALUES ...)` by the same tests of queries."""
    from sqlglot import expressions as exp

    test = node.parent
    if isinstance(test, exp.In):
        test.set("query", select_values(node).subquery())
        test.set("expressions", None)
    elif test is not None:
        node.replace(select_values(node))


def _rewrite_comparison(node: exp.EQ | exp.NEQ) -> None:
    """Replace `x = ANY (query)` by `x IN (query)`, and `x <> ALL (query)` by `x NOT IN (query)`."""
    from sqlglot import expressions as exp

    quantified = node.right
    wanted = exp.Any if isinstance(node, exp.EQ) else exp.All
    query = quantified.this
    if not isinstance(quantified, wanted) or not isinstance(query, exp.Query):
        return
    test: exp.Expr = exp.In(
        this=node.left, query=query if isinstance(query, exp.Subquery) else query.subquery()
    )
    node.replace(test if isinstance(node, exp.EQ) else exp.Not(this=test))


def _orders(node: exp.Expr) -> bool:
    """Return True for the expression of an `ORDER BY`."""
    from sqlglot import expressions as exp

    return isinstance(node.parent, exp.Ordered)


def _rewrite_qualify(select: exp.Select) -> None:
    """Move a query with `QUALIFY` into `FROM`, so that its conditions are those of `WHERE`."""
    from sqlglot import expressions as exp

    condition = select.args["qualify"].this
    inner = select.copy()
    inner.set("qualify", None)
    aliases = {item.unalias(): item.alias for item in inner.expressions if item.alias}
    hidden: list[exp.Expr] = []
    for window in list(condition.find_all(exp.Window)):
        if window not in aliases:
            aliases[window.copy()] = f"{_QUALIFIED}{len(hidden) + 1}"
            hidden.append(exp.alias_(window.copy(), aliases[window]))
        replaced = exp.column(aliases[window])
        if window is condition:
            condition = replaced
        window.replace(replaced)
    names: list[exp.Expr] = [
        exp.Star() if item.is_star else exp.column(item.alias_or_name, quoted=True)
        for item in inner.expressions
    ]
    if hidden and any(isinstance(name, exp.Star) for name in names):
        hidden_names = [exp.to_identifier(item.alias) for item in hidden]
        names = [exp.Star(**{"except_": hidden_names})]
    inner.set("expressions", [*inner.expressions, *hidden])
    with_ = inner.args.get("with_")
    inner.set("with_", None)
    for key in [key for key in select.args if select.args[key]]:
        select.set(key, None)
    select.set("with_", with_)
    select.set("expressions", names)
    select.set("from_", exp.From(this=inner.subquery(_RANKED)))
    select.set("where", exp.Where(this=condition))
