"""Writes `schema.json` anew, after an option of a connector, a window or a trigger has changed."""

from headrace.yaml.json_schema import SHIPPED, shipped_text

SHIPPED.write_text(shipped_text(), encoding="utf-8")
