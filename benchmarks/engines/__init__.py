"""Other engines that benchmarks compare with."""
