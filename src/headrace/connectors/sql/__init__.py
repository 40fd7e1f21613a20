"""Tables of database servers, exactly once: one protocol, told once, spoken in each server's dialect.

    open      one transaction: the number of this run, one more than the last; older runs' staging tables are dropped
    stage     the executors load their rows, in parallel, into a staging table of this run and epoch
    commit    one transaction: no newer run? epoch not there yet? then staged rows -> table, and the ledger row
    (after)   the staging table is dropped

PostgreSQL begins the transaction of the commit while tasks still load: they stage in chunks, each sorted by key, and a chunk
is taken as soon as it is there. Nobody sees its rows before the commit, which has the same checks (`ahead.py`).

A task that Spark runs twice loads its rows twice; each attempt marks its own, and `commit` takes only those of the
attempts that Spark counted. A crash before the commit leaves a staging table that the next `open` drops; a crash after
it leaves the ledger row, so the epoch is passed over. A connection that is lost in the middle of a commit is asked
again: the ledger tells whether it was done.
"""
