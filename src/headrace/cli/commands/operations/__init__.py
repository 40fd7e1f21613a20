"""Commands that operate a pipeline beside its runs: compare versions, savepoints, a local cluster."""
