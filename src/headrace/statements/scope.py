"""Names in a query: which relation a column belongs to, and its expression in the step that computes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.access.effort import check_effort
from headrace.errors import did_you_mean, nearest
from headrace.sql.functions import spark_functions
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation, quote

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_FUNCTIONS = {
    "char_length": "length",
    "cardinality": "size",
    "regexp": "rlike",
    "ucase": "upper",
    "lcase": "lower",
    "json_query": "get_json_object",
    "json_value": "get_json_object",
    "json_string": "to_json",
    "row": "struct",
    "split_index": "get",
}
"""Functions of Flink, ksqlDB and Azure that Spark has under another name."""
_SPLIT = "split_index"
_JSON = "use to_json(named_struct('key', value)) or to_json(array(...))"
_NOT_IN_SPARK = {
    "All": ("ALL (subquery)", "compare with a scalar subquery: > (SELECT max(price) FROM ...)"),
    "JSON": ("IS JSON with a kind of value", "write IS JSON, or compare schema_of_json(text)"),
    "JSONArray": ("JSON_ARRAY", _JSON),
    "JSONObject": ("JSON_OBJECT", _JSON),
    "JSONObjectAgg": ("JSON_OBJECTAGG", "use to_json(map_from_entries(collect_list(struct(key, value))))"),
    "JSONArrayAgg": ("JSON_ARRAYAGG", "use to_json(collect_list(value))"),
    "SimilarTo": (
        "SIMILAR TO with a computed pattern or ESCAPE",
        "use RLIKE, whose pattern is found anywhere: '^(a|b)$'",
    ),
    "Time": ("the type TIME", "use date_format(ts, 'HH:mm:ss')"),
}
"""Forms by the class of sqlglot, each with what to write."""


_REFUSED = {
    "json_array": ("JSON_ARRAY is not supported", _JSON),
    "json_arrayagg": ("JSON_ARRAYAGG is not supported", "use to_json(collect_list(value))"),
    "json_object": ("JSON_OBJECT is not supported", _JSON),
    "current_watermark": (
        "CURRENT_WATERMARK is not supported: its value would differ when an epoch is repeated",
        "rows behind the watermark are in the side output `late` of a window: SELECT * FROM totals.late",
    ),
}
"""Functions without a counterpart in Spark, each with the reason and what to write."""


@dataclass(frozen=True)
class Scope:
    """The relations of a `FROM` clause, by the names that the query gives them."""

    relations: Mapping[str, Relation]
    renamed: Mapping[tuple[str, str], str]
    """The columns of a joined row, by relation and column, if they are not called as in the relation."""
    place: str
    merged: Mapping[str, str] = field(default_factory=dict)
    """The columns of `USING`, in lower case, with their expressions: they belong to both sides of a join."""

    @classmethod
    def of(cls, name: str, relation: Relation, place: str) -> Scope:
        return cls({name: relation}, {}, place)

    def resolve(self, column: exp.Column) -> str:
        """Return the expression of a column.

        Raises:
            DocumentError: no relation has it, or several have.
        """
        first, *rest = (part.name for part in column.parts)
        relation_name = self.qualifier(column)
        if relation_name is not None:
            name, *fields = rest
            expression = self._in(relation_name, name)
            if expression is None:
                raise self._unknown(column, f"{first}.{name}", self.relations[relation_name].visible())
            return ".".join([expression, *map(quote, fields)])
        return ".".join([self._any(first, column), *map(quote, rest)])  # fields: window.start

    def knows(self, column: exp.Column) -> bool:
        """Return True if a relation of this scope has the column."""
        relation_name = self.qualifier(column)
        if relation_name is not None:
            return self._in(relation_name, column.parts[1].name) is not None
        return any(self._in(known, column.parts[0].name) is not None for known in self.relations)

    def qualifier(self, column: exp.Column) -> str | None:
        """Return the relation that qualifies a column, if any."""
        first, *rest = (part.name.lower() for part in column.parts)
        return next((known for known in self.relations if rest and known.lower() == first), None)

    def owner(self, column: exp.Column) -> str | None:
        """Return the relation that a column belongs to; None if it is unknown or not certain."""
        if (qualified := self.qualifier(column)) is not None:
            return qualified
        name = column.parts[0].name
        names = [known for known in self.relations if self._in(known, name) is not None]
        return names[0] if len(names) == 1 else None

    def type_of(self, node: exp.Expr) -> str:
        """Return the declared type of a column in upper case; empty for other expressions."""
        from sqlglot import expressions as exp

        if not isinstance(node, exp.Column) or (owner := self.owner(node)) is None:
            return ""
        types = self.relations[owner].types
        return next((kind.upper() for name, kind in types.items() if name.lower() == node.name.lower()), "")

    def star(self, table: str = "") -> list[tuple[str, str]]:
        """Return names and expressions of all columns, or of those of one relation."""
        names = [
            known
            for known, relation in self.relations.items()
            if (known.lower() == table.lower() if table else not relation.hidden)
        ]
        items = [
            (column, self._in(name, column) or quote(column))
            for name in names
            for column in self.relations[name].visible()
        ]
        if table:
            return items
        shared = {column.lower(): column for column, _ in reversed(items) if column.lower() in self.merged}
        first = [(column, self.merged[key]) for key, column in reversed(shared.items())]
        return [*first, *(item for item in items if item[0].lower() not in self.merged)]

    def text(self, node: exp.Expr, replace: Callable[[exp.Expr], str | None] | None = None) -> str:
        """Return an expression in Spark SQL with the columns of this scope.

        Args:
            node: the expression.
            replace: returns the text of a part that is computed elsewhere; None to keep it.
        """
        from sqlglot import expressions as exp

        def transform(part: exp.Expr) -> exp.Expr:
            if replace is not None and (text := replace(part)) is not None:
                return _raw(text)
            if isinstance(part, exp.Column) and not part.is_star:
                return _raw(self.resolve(part))
            if isinstance(part, exp.Anonymous):
                # In place: sqlglot does not go into the arguments of a new node.
                self._check_function(part)
                if part.name.lower() == _SPLIT:
                    part.set("expressions", _split_arguments(part, self.place_of(part)))
                part.set("this", _FUNCTIONS.get(part.name.lower(), part.name))
            return part

        check_effort()
        self._check_form(node)
        return str(node.copy().transform(transform).sql(dialect="spark"))

    def place_of(self, node: exp.Expr) -> str:
        """Return the place of the first word of an expression that has one."""
        places = [
            (part.meta["line"], max(1, part.meta["col"] - (part.meta["end"] - part.meta["start"])))
            for part in node.walk()
            if "line" in part.meta
        ]
        if not places:
            return self.place
        file = self.place.rsplit(":", 2)[0]
        line, column = min(places)
        return f"{file}:{line}:{column}"

    def _check_form(self, node: exp.Expr) -> None:
        """Refuse what sqlglot reads, and Spark does not have."""
        for part in node.walk():
            name = type(part).__name__
            if name in ("Cast", "TryCast") and part.args["to"].this.name == "TIME":
                name = "Time"
            if name in _NOT_IN_SPARK:
                what, hint = _NOT_IN_SPARK[name]
                raise refuse(self.place_of(part), f"{what} is not supported", hint)

    def _check_function(self, call: exp.Anonymous) -> None:
        name = call.name.lower()
        if name in _REFUSED:
            what, hint = _REFUSED[name]
            raise refuse(self.place_of(call), what, hint)
        if name not in spark_functions() and name not in _FUNCTIONS:
            near = nearest(name, sorted(spark_functions()))
            hint = f"did you mean `{near}`?" if near else "the functions are those of Spark SQL"
            raise refuse(self.place_of(call), f"unknown function `{call.name}`", hint)

    def _in(self, relation: str, name: str) -> str | None:
        key = next((k for k in self.renamed if k[0] == relation and k[1].lower() == name.lower()), None)
        return quote(self.renamed[key]) if key is not None else self.relations[relation].find(name)

    def _any(self, name: str, column: exp.Column) -> str:
        if name.lower() in self.merged:
            return self.merged[name.lower()]
        expressions = {known: text for known in self.relations if (text := self._in(known, name)) is not None}
        certain = {
            k: t for k, t in expressions.items() if self.relations[k].columns is not None
        } or expressions
        if len(set(certain.values())) > 1:
            names = " and ".join(f"`{known}`" for known in certain)
            raise refuse(
                self.place_of(column), f"`{name}` is in {names}", f"write {next(iter(certain))}.{name}"
            )
        if not certain:
            visible = [column for relation in self.relations.values() for column in relation.visible()]
            raise self._unknown(column, name, visible)
        return next(iter(certain.values()))

    def _unknown(self, column: exp.Column, name: str, known: object) -> Exception:
        return refuse(
            self.place_of(column),
            f"unknown column `{name}`",
            did_you_mean(column.name, list(known)),  # type: ignore[call-overload]
        )


def _split_arguments(call: exp.Anonymous, place: str) -> list[exp.Expr]:
    """Return the arguments of `get` for `SPLIT_INDEX(text, delimiter, index)`: parts and index, from 0."""
    from sqlglot import expressions as exp

    if len(call.expressions) != 3:
        what = f"expected 3 arguments of SPLIT_INDEX, got {len(call.expressions)}"
        raise refuse(place, what, "such as SPLIT_INDEX(url, '/', 3)")
    text, delimiter, index = call.expressions
    return [exp.Anonymous(this="split", expressions=[text, literal_pattern(delimiter)]), index]


def literal_pattern(text: exp.Expr) -> exp.Expr:
    """Return a pattern that matches a text as it is."""
    from sqlglot import expressions as exp

    if text.is_string:
        return exp.Literal.string(re.escape(text.name))
    return exp.func("concat", exp.Literal.string("\\Q"), text, exp.Literal.string("\\E"))


def _raw(text: str) -> exp.Expr:
    """Return text as an expression that is written as it is."""
    from sqlglot import expressions as exp

    return exp.Var(this=text)
