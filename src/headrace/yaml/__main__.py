"""Writes `schema.json`, after an option of a connector or a model of the grammar has changed."""

from headrace.yaml.schema import SHIPPED, shipped_text

SHIPPED.write_text(shipped_text(), encoding="utf-8")
