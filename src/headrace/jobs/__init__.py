"""The job service: submits, runs, tracks and upgrades jobs."""
