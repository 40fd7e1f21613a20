"""Runs of a case: as Spark queries in virtual time, or in the in-process driver of the kernel."""
