"""Commands for operations: compare versions of a pipeline, savepoints, a local cluster."""
