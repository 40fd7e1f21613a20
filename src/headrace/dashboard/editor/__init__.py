"""The server side of the editor: checks, completion and the first document."""
