"""Pipelines as SQL scripts: statements become the same document, and so the same plan, as YAML and Python."""

from headrace.statements.load import Declared, declare, from_text, load, loads_code, require_sink

__all__ = ["Declared", "declare", "from_text", "load", "loads_code", "require_sink"]
