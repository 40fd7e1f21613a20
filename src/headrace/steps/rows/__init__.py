"""Stateless steps."""
