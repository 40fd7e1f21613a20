"""Measure the language of code and documentation: verbs of speech, participle-first names, relative-clause docstrings.

In Scala, names may not have a word that the vocabulary replaces, and no function begins with a participle.

`python -m tests.support.language [PATH...]` lists every occurrence and the three rates; the unit test holds
the rates at those of well-known projects (see CONTRIBUTING.md). In Markdown, prose outside of code is measured.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VERBS = re.compile(
    r"\b(tells?|told|telling|says?|said|saying|asks?|asked|asking|speaks?|spoke|spoken|hears?|heard"
    r"|nobody|somebody|whoever|whatever|whichever)\b",
    re.IGNORECASE,
)
VARIABLES = frozenset(["told", "said", "found", "given", "came", "one", "there"])
"""Variables that name no thing of the domain."""
REPLACED = re.compile(
    r"told|said|asks|kept|united|given|came|forgotten|placed|settled|folded|lineage|beat|patience|patiently|growing"
    r"|caution|rejects|follower|everything"
)
"""Words that the vocabulary replaces, in any Scala name."""
SCALA_VARIABLES = VARIABLES | {"lost", "repeated"}
"""Whole Scala names; Protobuf has repeated fields, and "found" is a part of many names."""
SCALA_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
SCALA_TEXT = re.compile(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"')
SCALA_NAME = re.compile(
    r"(?P<override>override )?(?:protected |private )?"
    r"\b(?P<kind>def|val|var|class|object|trait|type) (?P<name>[A-Za-z]\w*)(?P<call>\s*[\[(])?"
    r"|\b(?P<parameter>[a-z]\w*): "
)
SCALA_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
OPENINGS = re.compile(r"(what|where|whether|those|of|which|how|who|whose)\b", re.IGNORECASE)
NO_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>|\"[^\"]*\"")
"""Parts of a line of Markdown that are no prose: code, link targets, tags, quotations."""
VALUES = ("property", "fixture")
"""Decorators of functions that are named after their value."""
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
IRREGULAR = frozenset(
    [
        "told",
        "said",
        "kept",
        "found",
        "given",
        "taken",
        "made",
        "known",
        "seen",
        "shown",
        "written",
        "drawn",
        "left",
        "held",
        "sent",
        "lost",
        "built",
        "begun",
        "gone",
        "done",
        "met",
        "laid",
        "paid",
        "bound",
        "split_off",
        "cut",
        "worn",
        "chosen",
        "spoken",
        "hidden",
    ]
)
# Words that end in -ed and are not participles, and nouns of the field that begin with one.
NOT_PARTICIPLES = frozenset(
    ["need", "seed", "feed", "embed", "exceed", "proceed", "speed", "shed", "bed", "red"]
)


@dataclass
class Language:
    """Counts over a set of files, with every occurrence as `file:line: text`."""

    words: int = 0
    functions: int = 0
    docstrings: int = 0
    verbs: list[str] = field(default_factory=list)
    participles: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    scala_names: list[str] = field(default_factory=list)

    @property
    def verb_rate(self) -> float:
        """Occurrences per 1,000 words of docstrings and comments."""
        return 1000 * len(self.verbs) / max(self.words, 1)

    @property
    def participle_share(self) -> float:
        """Share of functions whose name begins with a participle."""
        return len(self.participles) / max(self.functions, 1)

    @property
    def clause_share(self) -> float:
        """Share of docstrings that open with a relative clause."""
        return len(self.clauses) / max(self.docstrings, 1)


def measure(files: Sequence[Path]) -> Language:
    """Measure Python, Scala and Markdown files; only Python counts towards the rates of names and docstrings."""
    language = Language()
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".py":
            tree = ast.parse(text)
            _measure_names(language, file, tree)
            prose = list(_python_prose(text, tree))
        elif file.suffix == ".md":
            prose = list(_markdown_prose(text))
        else:
            language.scala_names += [f"{file}:{line}: {name}" for line, name in _scala_names(text)]
            prose = list(_scala_prose(text))
        for line, words in prose:
            language.words += len(WORD.findall(words))
            language.verbs += [f"{file}:{line}: {match.group()}" for match in VERBS.finditer(words)]
    return language


def starts_with_participle(name: str) -> bool:
    """True for `told`, `kept_rows`, `_decoded`; false for `need_rows` and `feed`."""
    first = name.strip("_").split("_")[0].lower()
    if first in IRREGULAR:
        return True
    return len(first) > 3 and first.endswith("ed") and first not in NOT_PARTICIPLES


def _measure_names(language: Language, file: Path, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            language.functions += 1
            if starts_with_participle(node.name) and not _names_a_value(node):
                language.participles.append(f"{file}:{node.lineno}: {node.name}")
        elif not isinstance(node, ast.ClassDef | ast.Module):
            name = _stored_name(node)
            if name in VARIABLES:
                language.variables.append(f"{file}:{getattr(node, 'lineno', 1)}: {name}")
            continue
        docstring = ast.get_docstring(node)
        if docstring:
            language.docstrings += 1
            if OPENINGS.match(docstring):
                language.clauses.append(f"{file}:{getattr(node, 'lineno', 1)}: {docstring.splitlines()[0]}")


def _names_a_value(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for properties and fixtures."""
    names = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(value in name for name in names for value in VALUES)


def _stored_name(node: ast.AST) -> str | None:
    """Return the name of a parameter or of a variable that is assigned."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def _python_prose(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield comments and the strings that stand alone as statements, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            for number, line in enumerate(node.value.value.splitlines()):
                yield node.lineno + number, line


def _scala_prose(text: str) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        start = line.find("/*")
        if inside or start >= 0:
            yield number, line[max(start, 0) :]
            inside = "*/" not in line[max(start, 0) :]
        elif (comment := line.find("//")) >= 0:
            yield number, line[comment:]


def _scala_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield declared names with a word that the vocabulary replaces, and functions that begin with a participle.

    A `def` without parameters is named after its value, and an override has the name of another trait.
    """
    for pattern in (SCALA_TEXT, SCALA_COMMENT):
        text = pattern.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)
    for match in SCALA_NAME.finditer(text):
        name = match["name"] or match["parameter"]
        words = [word.lower() for word in SCALA_WORD.findall(name)]
        is_function = match["kind"] == "def" and match["call"] and not match["override"]
        if (
            any(map(REPLACED.fullmatch, words))
            or name.lower() in SCALA_VARIABLES
            or (is_function and starts_with_participle("_".join(words)))
        ):
            yield text.count("\n", 0, match.start()) + 1, name


def _markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of fenced code, without inline code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        start = line.lstrip()[:3]
        if start in ("```", "~~~") and fence in ("", start):
            fence = "" if fence else start
        elif not fence:
            yield number, NO_PROSE.sub(" ", line)


def source_files(roots: Sequence[Path]) -> list[Path]:
    """List the Python, Scala and Markdown files under `roots`."""
    files = [file for root in roots for file in ([root] if root.is_file() else root.rglob("*"))]
    return sorted(file for file in files if file.suffix in (".py", ".scala", ".md"))


def main(arguments: Sequence[str]) -> int:
    """List every occurrence and print the rates."""
    language = measure(source_files([Path(argument) for argument in arguments or ["src", "kernel"]]))
    names = (language.participles, language.variables, language.scala_names)
    for kind in (language.verbs, language.clauses, *names):
        print("\n".join(kind), end="\n\n")
    print(
        f"verbs {language.verb_rate:.2f} per 1,000 words ({len(language.verbs)}), participle-first functions"
        f" {language.participle_share:.1%} ({len(language.participles)} of {language.functions}),"
        f" relative-clause docstrings {language.clause_share:.1%} ({len(language.clauses)} of "
        f"{language.docstrings})"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
