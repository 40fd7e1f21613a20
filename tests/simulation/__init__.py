"""A simulation of delivery: the product's code against simulated disks, clocks, processes and servers.

    python -m tests.simulation --histories 200000      many histories, on all cores
    python -m tests.simulation --seed 4711             one history, with its trace

`world` schedules the threads of the simulated processes and injects faults; `disk`, `threads`, `database`
and `kafka` stand in for the operating system and for servers; `spark` follows the rules of Spark's
micro-batch loop, which `tests/spark/runtime/test_micro_batch_rules.py` pins; `run` assembles the product's
code as a run does; `histories` draws a history from a seed and compares what the sinks hold; `mutants` removes
one guard of the product each.
"""
