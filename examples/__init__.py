"""Use cases, each with a pipeline in Python and in YAML, its events and its expected rows."""
