"""Processors: user classes with typed state, timers and side outputs per key.

`state`, `timers` and `outputs` hold the declarations, `processor` the base class. `codec`, `runtime` and
`worker` run them: the same runtime serves Spark's Python workers and the test harness. They are sent to
workers by value, so they import only the standard library, pyarrow and `headrace.functions`.
"""
