"""The live pages of the job service."""
