"""Drives that are longer than a rule allows, found by a processor."""
