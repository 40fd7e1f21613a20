"""`headrace to-yaml`: print a pipeline as YAML."""

from __future__ import annotations

import sys

from headrace.cli.options import PipelineFile, PipelineName


def to_yaml(file: PipelineFile, pipeline: PipelineName = None) -> None:
    """Print a pipeline as a YAML document with the same plan.

    Useful for pipelines in Python; a YAML document is printed in its shortest form. Environment variables are
    replaced by their values.

    For example:

    - `headrace to-yaml fraud.py > fraud.yaml`
    """
    from headrace.cli.loading import load_one

    chosen = load_one(file, pipeline)
    chosen.check()
    sys.stdout.write(chosen.to_yaml())
