"""Tables of SQL databases, written exactly once: one protocol, and a dialect for each database.

    open      one transaction: raise the fencing token; drop staging tables of older runs
    stage     the tasks load their rows, in parallel, into the staging table of this run
    commit    one transaction: check token and epoch; staged rows -> table; the ledger row
    (after)   truncate the staging table

The staging table is created once per run and tags each row with the task attempt that loaded it. `commit`
takes only rows of the attempts that Spark accepted, so a task that runs twice adds its rows once. A crash
before the commit leaves a staging table that the next `open` drops; a crash after it leaves the ledger row,
so the epoch is skipped. If the connection is lost during a commit, the commit is repeated, and the ledger
shows whether the first one succeeded.

SQLite stages rows on the driver: an epoch is collected there and loaded inside the commit transaction.
"""
