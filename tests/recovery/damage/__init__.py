"""Damage files of a checkpoint, run the pipeline again, and compare its rows with those of an undisturbed run."""
