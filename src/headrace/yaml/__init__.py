"""Pipelines as YAML documents: `load` reads a document into a plan, `dump` writes a plan as a document.

`Pipeline.from_yaml` and `Pipeline.to_yaml` do the same for pipelines.

>>> from headrace import yaml
>>> graph = yaml.from_text('''
... name: words
... sources:
...   lines: {memory: {}, schema: word string}
... steps:
...   counts: {from: lines, key_by: word, aggregate: {n: count(*)}}
... ''')
>>> graph["counts"].aggregates
(('n', 'count(*)'),)
"""

from headrace.yaml.dump import dump
from headrace.yaml.load import from_mapping, from_text, load
from headrace.yaml.schema import document_schema

__all__ = ["document_schema", "dump", "from_mapping", "from_text", "load"]
