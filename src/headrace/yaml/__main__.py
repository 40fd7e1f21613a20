"""Writes `schema.json`, after an option of a connector or a model of the grammar has changed."""

from headrace.yaml.schema import PATH, json_text

PATH.write_text(json_text(), encoding="utf-8")
