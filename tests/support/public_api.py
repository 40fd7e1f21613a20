"""The public names of headrace with their signatures, as text; `make api` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

import headrace

_PUBLIC = frozenset(headrace.__all__)
_GRAMMAR = "headrace.steps.grammar."
"""How declarations are read and written in documents, which is not public."""
SNAPSHOT = Path(__file__).parents[1] / "public_api.txt"
MODULES = ("headrace", "headrace.testing", "headrace.errors", "headrace.connector_api")


def public_api() -> str:
    """Return one line for each public name, member and option."""
    root = griffe.load("headrace", search_paths=[Path(__file__).parents[2] / "src"], resolve_aliases=True)
    lines: list[str] = []
    for module in MODULES:
        lines += _module(_member(root, module))
    return "\n".join(lines) + "\n"


def _member(root: griffe.Object | griffe.Alias, path: str) -> griffe.Object | griffe.Alias:
    inner = path.removeprefix("headrace").lstrip(".")
    return root[inner] if inner else root


def _module(module: griffe.Object | griffe.Alias) -> Iterator[str]:
    listed = module.members.get("__all__")  # of the module itself, or of one whose names it has
    origin = listed.final_target.module if isinstance(listed, griffe.Alias) else module
    names = origin.exports or [name for name, member in module.members.items() if _is_own(name, member)]
    for name in sorted(str(each) for each in names):
        if name not in module.members:  # imported on first use
            continue
        member = module[name]
        yield from _module(member) if member.is_module else _lines(f"{module.path}.{name}", member)


def _is_own(name: str, member: griffe.Object | griffe.Alias) -> bool:
    return not name.startswith("_") and not member.is_alias and (member.is_function or member.is_class)


def _lines(path: str, member: griffe.Object | griffe.Alias) -> Iterator[str]:
    own = member.final_target if isinstance(member, griffe.Alias) else member
    if isinstance(own, griffe.Function):
        yield from (f"{path}{_signature(each)}" for each in own.overloads or [own])
    elif isinstance(own, griffe.Class):
        bases = ", ".join(str(base).rpartition(".")[2] for base in own.bases)
        yield f"class {path}({bases})" if bases else f"class {path}"
        for name, each in sorted(_members(own).items()):
            yield from _lines(f"{path}.{name}", each)
    elif isinstance(own, griffe.Attribute):
        value = _default(own.value)
        yield f"{path}: {own.annotation}{f' = {value}' if value else ''}" if own.annotation else path


def _members(own: griffe.Class) -> dict[str, griffe.Object | griffe.Alias]:
    """Return the members of a class and of its private bases; a public base has lines of its own."""
    public = [base for base in own.mro() if base.name in _PUBLIC]
    listed = {base.path for each in public for base in (each, *each.mro())}
    private = [base for base in own.mro() if base.path not in listed]
    hidden = set(public[0].all_members) if any(base.name == "Connector" for base in public) else set()
    hidden |= {name for base in own.mro() if base.path.startswith(_GRAMMAR) for name in base.members}
    members = {name: each for base in reversed([own, *private]) for name, each in base.members.items()}
    return {name: each for name, each in members.items() if not name.startswith("_") and name not in hidden}


def _default(value: str | griffe.Expr | None) -> str:
    """Return the default of an attribute; that of an option is an argument of `Field`, beside its texts."""
    if isinstance(value, griffe.ExprCall) and str(value.function) == "Field":
        named = [each for each in value.arguments if isinstance(each, griffe.ExprKeyword)]
        return next((str(each.value) for each in named if each.name == "default"), "")
    return "" if value is None or "\n" in str(value) else str(value)


def _signature(function: griffe.Function) -> str:
    return f"({', '.join(_parameters(function))}) -> {function.returns}"


def _parameters(function: griffe.Function) -> Iterator[str]:
    before = None
    for parameter in function.parameters:
        kind = parameter.kind
        if before is griffe.ParameterKind.positional_only and kind is not before:
            yield "/"
        if kind is griffe.ParameterKind.keyword_only and before not in (
            griffe.ParameterKind.keyword_only,
            griffe.ParameterKind.var_positional,
        ):
            yield "*"
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
        before = kind
        if parameter.name != "self":
            default = f" = {parameter.default}" if parameter.default and not stars.get(kind) else ""
            annotation = f": {parameter.annotation}" if parameter.annotation else ""
            yield f"{stars.get(kind, '') if kind else ''}{parameter.name}{annotation}{default}"
    if before is griffe.ParameterKind.positional_only:
        yield "/"


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api())
