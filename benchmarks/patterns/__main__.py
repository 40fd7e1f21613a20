"""`python -m benchmarks.patterns`."""

from benchmarks.patterns import main

main()
