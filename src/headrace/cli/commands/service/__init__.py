"""Commands of the job service: `serve`, `jobs` and the driver process."""
