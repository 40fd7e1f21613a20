"""User functions in Python: rows, results, failures, and the loop that a Python worker runs.

The modules `rows`, `results`, `failures`, `calls`, `frames`, `logs` and `worker` run in Spark's Python
workers. They are sent there by value, so they import only the standard library and pyarrow. `reference` and
`signatures` run where the pipeline is built.
"""
