"""The output rows of a case: values, comparison with expected rows, and with a batch."""
