"""Python functions in queries: each call becomes a step that adds its result to the row.

The step is before all clauses but `FROM` and the plain conditions of `WHERE`: a row whose call raises is a
dead letter and never reaches an aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.access import check_import
from headrace.errors import HeadraceError
from headrace.functions.reference import UserCode
from headrace.functions.signatures import float_parameters, result_type
from headrace.sql.functions import spark_functions
from headrace.sql.shape import is_aggregate
from headrace.statements.declarations import CreateFunction, Placed
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation, quote
from headrace.statements.subqueries import filter_first
from headrace.steps.base import NAME

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder

_OPTIONS = ("on_error", "timeout", "concurrency")
_CLAUSES = ("group", "having", "order", "qualify", "windows")
"""The clauses after `FROM`, `WHERE` and `SELECT` that can call a function."""


@dataclass(frozen=True)
class Function:
    """A Python function that queries can call."""

    name: str
    reference: Placed
    type: str
    """The type of its result."""
    options: Mapping[str, Placed] = field(default_factory=dict)
    parameters: tuple[bool, ...] | None = None
    """For each parameter, if its hint is `float`; None for any number."""


def declare(statement: CreateFunction) -> Function:
    """Import a function; the hint of its result is the type of its column.

    Raises:
        DocumentError: its name is that of a function of Spark, or the type of its result is unknown.
        LoadError: it cannot be imported.
    """
    name, reference = statement.name, statement.reference
    check_import(reference.text)
    if not NAME.fullmatch(name.text):
        raise refuse(name.where, f"expected a name of letters, digits and _, got `{name}`", "rename it")
    if name.text.lower() in spark_functions():
        raise refuse(name.where, f"Spark has a function `{name}`", "give the function another name")
    if ":" not in reference.text.strip(":"):
        hint = "such as 'scoring:score' for the function score of scoring.py"
        raise refuse(reference.where, f"expected 'module:function', got '{reference}'", hint)
    for option, value in statement.options.items():
        if option not in _OPTIONS:
            raise refuse(value.where, f"unknown option `{option}`", f"the options are {', '.join(_OPTIONS)}")
    code = UserCode(reference.text)
    try:
        target = code.load()
        kind = result_type(target)
    except HeadraceError as error:
        raise refuse(reference.where, error.what, error.hint) from None
    if kind is None:
        what = f"the type of the result of `{code}` is unknown"
        raise refuse(reference.where, what, f"write its type hint: def {code}(...) -> float")
    call = getattr(target, "__call__", target) if isinstance(target, type) else target  # noqa: B004
    return Function(name.text, reference, kind, statement.options, float_parameters(call))


def calls_of(builder: SelectBuilder, tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the calls of Python functions in an expression, inner calls first; not those of subqueries."""
    from sqlglot import expressions as exp

    if isinstance(tree, exp.Query):
        return
    for child in tree.iter_expressions():
        yield from calls_of(builder, child)
    if isinstance(tree, exp.Anonymous) and tree.name.lower() in builder.queries.functions:
        yield tree


def check_places(builder: SelectBuilder, tree: exp.Select) -> None:
    """Refuse the calls of functions in `ON` and `HAVING`, and over the results of aggregates.

    Raises:
        DocumentError: a call is where no row has its arguments yet.
    """
    if not builder.queries.functions:
        return
    from sqlglot import expressions as exp

    for join in tree.args.get("joins") or ():
        for call in calls_of(builder, join.args["on"]) if join.args.get("on") is not None else ():
            hint = "call it in a subquery of FROM: JOIN (SELECT *, f(a) AS b FROM ...) t ON t.b = ..."
            raise refuse(builder.place_of(call), f"the function `{call.name}` in ON is not supported", hint)
    for part in (*tree.expressions, *(tree.args[key] for key in _CLAUSES if tree.args.get(key))):
        for call in calls_of(builder, part):
            if any(is_aggregate(inner) or isinstance(inner, exp.Window) for inner in call.walk()):
                hint = "call it in an outer query: SELECT f(n) FROM (SELECT count(*) AS n FROM ...)"
                what = f"the function `{call.name}` over an aggregate is not supported"
                raise refuse(builder.place_of(call), what, hint)


def apply(builder: SelectBuilder, tree: exp.Select, source: Source) -> Source:
    """Add the steps of the functions that a query calls; each call becomes the column of its result."""
    if not builder.queries.functions:
        return source
    calling = [condition for condition in source.where if any(calls_of(builder, condition))]
    parts = [*tree.expressions, *(tree.args[key] for key in _CLAUSES if tree.args.get(key))]
    if not calling and not any(call for part in parts for call in calls_of(builder, part)):
        return source
    source = filter_first(builder, source, calling)
    results: dict[str, exp.Expr] = {}
    where = []
    for condition in source.where:
        holder = _hold(condition.copy())
        source = _replace_calls(builder, holder, source, results)
        where.append(holder.this)
    for number, item in enumerate(list(tree.expressions)):
        source = _replace_calls(builder, item, source, results, f"col{number + 1}")
    for key in _CLAUSES:
        items = tree.args.get(key)
        for item in items if isinstance(items, list) else [items] if items else []:
            source = _replace_calls(builder, item, source, results)
    return replace(source, where=where)


def _hold(node: exp.Expr) -> exp.Expr:
    """Return a node around an expression, which can be replaced then."""
    from sqlglot import expressions as exp

    return exp.Where(this=node)


def _replace_calls(
    builder: SelectBuilder, tree: exp.Expr, source: Source, results: dict[str, exp.Expr], name: str = ""
) -> Source:
    """Add the steps of the calls in a part of a query; `name` is that of a column without one."""
    from sqlglot import expressions as exp

    for call in list(calls_of(builder, tree)):
        text = source.scope.text(exp.Tuple(expressions=call.expressions)) if call.expressions else "()"
        key = f"{call.name.lower()}{text}"
        if key not in results:
            source, results[key] = _add_call(builder, call, source)
        column = results[key].copy()
        call.replace(exp.alias_(column, name, quoted=True) if call is tree and name else column)
    return source


def _add_call(builder: SelectBuilder, call: exp.Expr, source: Source) -> tuple[Source, exp.Expr]:
    from sqlglot import expressions as exp

    function = builder.queries.functions[call.name.lower()]
    place, relation = source.scope.place_of(call), source.relation
    if relation.columns is None:
        raise refuse(place, f"the columns of the input of `{call.name}` are unknown", "name them in SELECT")
    if relation.changes == "table" and not relation.marked:
        hint = "call it on the rows before they are grouped, ranked or joined, or in a `map` step after them"
        raise refuse(place, f"the function `{call.name}` over results that change is not supported", hint)
    if not call.expressions:
        raise refuse(place, f"the function `{call.name}` needs an argument", "pass a column")
    floats = function.parameters or ()
    if function.parameters is not None and len(call.expressions) > len(floats):
        what = (
            f"the function `{call.name}` has {len(floats)} parameters, got {len(call.expressions)} arguments"
        )
        raise refuse(place, what, f"change the call, or `{function.reference}`")
    taken = {name.lower() for name in (*relation.columns, *relation.formulas)}
    number = next(n for n in range(1, len(taken) + 2) if f"{call.name}_{n}".lower() not in taken)
    result = f"{call.name}_{number}"
    arguments, computed = [], {}
    for position, argument in enumerate(call.expressions):
        text = source.scope.text(argument)
        column = next((name for name in relation.columns if quote(name) == text), None)
        is_float = position < len(floats) and floats[position]
        if is_float and (column is None or source.scope.type_of(argument).startswith("DEC")):
            column, text = None, f"cast({text} as double)"  # numbers such as 0.5 are decimals in Spark
        if column is None:
            column = f"{result}_argument{position + 1}"
            computed[column] = Placed(text, source.scope.place_of(argument))
        arguments.append(column)
    ref = relation.ref
    if computed:
        step = builder.draft.new_name(builder.name, "with_columns")
        builder.queries.add(step, place, {"from": ref, "with_columns": computed})
        ref = step
    step = builder.draft.new_name(builder.name, "map")
    entry: dict[str, Any] = {
        "python": function.reference,
        "arguments": arguments,
        "output": f"{quote(result)} {function.type}",
        **function.options,
    }
    builder.queries.add(step, place, {"from": ref, "map": entry})
    diverts = str(function.options.get("on_error", "divert")) == "divert"
    outputs = _with_dead_letters(relation.side_outputs, step) if diverts else relation.side_outputs
    columns = (*relation.columns, *computed, result)
    relation = replace(relation, ref=step, columns=columns, side_outputs=outputs)
    name = f"{step} {result}"
    relations = {**source.scope.relations, name: Relation(step, (result,), hidden=True)}
    scope = replace(source.scope, relations=relations)
    return replace(source, relation=relation, scope=scope), exp.column(result, table=name, quoted=True)


def _with_dead_letters(outputs: Mapping[str, str], step: str) -> dict[str, str]:
    """Return side outputs with the rows whose call raised: `dead_letters`, then `dead_letters_2`."""
    own = {name: ref for name, ref in outputs.items() if ":map" in ref}
    name = "dead_letters" if not own else f"dead_letters_{len(own) + 1}"
    return {**own, name: f"{step}.dead_letters"}
