"""The data of the pages: a protocol, and the feed from the job service."""
