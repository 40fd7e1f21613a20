"""`python -m benchmarks.latency`."""

from benchmarks.latency import main

main()
