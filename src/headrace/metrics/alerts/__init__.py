"""Alerts on jobs: rules, their evaluation, and notifications."""
