"""The document grammar: pydantic models from which reading, dump and JSON Schema of YAML documents follow."""
