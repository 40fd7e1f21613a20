"""These transcripts are run by tests/spark/test_matrix.py, in process: 1,500 cases as tests of their own would take minutes."""

collect_ignore_glob = ["*.yaml"]
