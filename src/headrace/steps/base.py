"""The base of all nodes of a plan, and references to their outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

MAIN = ""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""The names of pipelines, steps and sinks."""


@dataclass(frozen=True, order=True)
class Ref:
    """One output of one step, printed `step` or `step.output`."""

    step: str
    output: str = MAIN

    def __str__(self) -> str:
        return f"{self.step}.{self.output}" if self.output else self.step


@dataclass(frozen=True)
class Node:
    """The base of all nodes."""

    name: str

    verb: ClassVar[str] = ""

    @property
    def stateful(self) -> bool:
        """Whether the step remembers something from one batch to the next."""
        return False

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return (self.input,) if hasattr(self, "input") else ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN,)

    @property
    def anonymous(self) -> bool:
        """Whether the name was made up: the user did not give one."""
        return ":" in self.name
