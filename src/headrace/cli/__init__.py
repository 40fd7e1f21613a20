"""The command line: one command a file, over what the other packages do. `app` puts them together."""
