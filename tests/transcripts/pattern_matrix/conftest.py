"""These transcripts are run by tests/spark/test_pattern_matrix.py and `make matrix`, in process: 960 cases as tests of their own would take minutes."""

collect_ignore_glob = ["*.yaml"]
