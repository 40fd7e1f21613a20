"""Reads the files of a job: side outputs, logs, checkpoints."""
