"""Pipelines as YAML documents: `load` reads one into the plan that Python would build, `dump` prints it.

>>> from headrace import yaml
>>> pipeline = yaml.from_text('''
... name: words
... sources:
...   lines: {memory: {}, schema: word string}
... steps:
...   counts: {from: lines, key_by: word, aggregate: {n: count(*)}}
... ''')
>>> pipeline.graph["counts"].aggregates
(('n', 'count(*)'),)
"""

from headrace.yaml.dump import dump
from headrace.yaml.json_schema import document_schema
from headrace.yaml.load import from_mapping, from_text, load

__all__ = ["document_schema", "dump", "from_mapping", "from_text", "load"]
