"""Side outputs of a processor, declared as class attributes."""

from __future__ import annotations

from typing import Any, overload


class SideOutput:
    """A declared side output: a descriptor through which the methods emit rows."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> SideOutput: ...
    @overload
    def __get__(self, instance: object, owner: type) -> SideEmitter: ...
    def __get__(self, instance: Any, owner: type) -> SideOutput | SideEmitter:
        return self if instance is None else SideEmitter(self.name, instance._visit)


class SideEmitter:
    """The side output during a call."""

    def __init__(self, name: str, visit: Any) -> None:
        self._name = name
        self._visit = visit

    def emit(self, row: Any) -> None:
        """Emit a row: a dict, tuple, dataclass or pydantic model."""
        self._visit.emit(self._name, row)


def side_output(schema: Any) -> SideOutput:
    """Declare a side output with these columns: DDL text, a dataclass or a pydantic model.

    It is read as `step.name`.

    >>> from headrace import Processor, side_output
    >>> class Spend(Processor):
    ...     output = "card string, total double"
    ...     large = side_output("card string, amount double")
    >>> list(Spend.side_outputs)
    ['large']
    """
    return SideOutput(schema)
