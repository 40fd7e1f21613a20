"""The document grammar: pydantic models for reading, dumping and describing (JSON Schema) YAML documents."""
