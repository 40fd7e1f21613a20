"""The command line: one module per command; `app` combines them."""
