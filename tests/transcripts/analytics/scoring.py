"""The model of `predict.yaml`."""

import pyarrow
import pyarrow.compute


def share(rows: pyarrow.Table) -> pyarrow.Array:
    """Return 100 / amount; raises for 0."""
    return pyarrow.compute.divide(100, rows["amount"])
