"""Write `schema.json`; run it after a change of connector options or of the grammar."""

from headrace.yaml.schema import PATH, json_text

PATH.write_text(json_text(), encoding="utf-8")
