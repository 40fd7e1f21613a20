"""Avro schemas: their types, and the conversion from and to columns, without a JVM."""
