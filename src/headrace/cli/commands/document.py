"""`headrace document`: a pipeline written in Python, printed as YAML."""

from __future__ import annotations

import sys

from headrace.cli.options import PipelineFile, PipelineName


def document(file: PipelineFile, pipeline: PipelineName = None) -> None:
    """Print a pipeline as a YAML document, which gives the same plan.

    Most useful for pipelines written in Python; a YAML document is printed in its shortest form. Environment variables
    are written out with their values.

    For example:

    - `headrace document fraud.py > fraud.yaml`
    """
    from headrace.cli.loading import load_one

    chosen = load_one(file, pipeline)
    chosen.check()
    sys.stdout.write(chosen.to_yaml())
