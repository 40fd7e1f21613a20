"""Descriptions and drawings of plans and patterns."""
