"""The process of a test run: `python -m headrace.testing.sample_run DIRECTORY`.

Reads `request.json` in the directory and writes `result.json`: the outputs, or the problems.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.access import Access, restrict, restrict_process, spark_settings
from headrace.errors import HeadraceError, without_passwords
from headrace.spark.session import open_session
from headrace.streams.pipeline import Pipeline
from headrace.testing.sample_run.run import PreparedRun, place_expression


def main() -> None:
    """Run the request; the process ends itself at its time limit, also if the service is gone."""
    if (access := Access.passed_by(os.environ)) is not None:
        restrict_process(access)
    directory = Path(sys.argv[1])
    request = json.loads((directory / "request.json").read_text())
    signal.alarm(int(request["seconds"]))
    content = run_request(request, directory)
    draft = directory / "result.json.draft"
    draft.write_text(json.dumps(content))
    draft.replace(directory / "result.json")


def run_request(request: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return the result of a request, or its problems."""
    try:
        with restrict(Access.passed_by(os.environ)):
            pipeline = Pipeline.from_yaml_text(request["document"], file=request["file"], name="test")
        prepared = PreparedRun(pipeline._plan(), request["rows"], directory)
        conf = request["conf"] | spark_settings()
        session = open_session("headrace-test", conf=conf, log_directory=directory)
        return {"result": asdict(prepared.run(session))}
    except HeadraceError as error:
        placed = [place_expression(each, request["document"], request["file"]) for each in error.problems]
        problems = [vars(problem) for problem in placed]
    except Exception as error:
        problems = [{"where": "", "what": f"{type(error).__name__}: {error}".splitlines()[0], "hint": ""}]
    hidden = [{key: without_passwords(text) for key, text in problem.items()} for problem in problems]
    return {"problems": hidden}


if __name__ == "__main__":
    main()
