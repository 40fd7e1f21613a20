"""Driving hours against a rule."""
