"""User functions in Python: rows, results, failures, and the loop that a Python worker runs.

`reference`, `signatures` and `arrow` run where the pipeline is built. The other modules run in Spark's Python
workers. They are sent there by value, so they import only the standard library and pyarrow.
"""
