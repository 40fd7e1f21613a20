"""Schemas: fields, DDL and Python classes."""
