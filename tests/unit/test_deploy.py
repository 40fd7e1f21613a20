"""The files in `deploy/`: their commands exist, and their settings belong together."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ruamel.yaml import YAML

from headrace.cli.app import app

DEPLOY = Path(__file__).parents[2] / "deploy"
DATA = "/var/lib/headrace"


def load_all(name: str) -> list[Any]:
    return list(YAML(typ="safe").load_all((DEPLOY / name).read_text()))


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / "headrace.service").read_text())
    return parser


def stateful_set() -> Any:
    return next(each for each in load_all("kubernetes.yaml") if each["kind"] == "StatefulSet")


def commands() -> dict[str, list[str]]:
    image = re.search(r"^CMD \[(.*)\]$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert image is not None
    (container,) = stateful_set()["spec"]["template"]["spec"]["containers"]
    return {
        "headrace.service": shlex.split(unit()["Service"]["ExecStart"]),
        "Containerfile": [word.strip(' "') for word in image[1].split(",")],
        "compose.yaml": load_all("compose.yaml")[0]["services"]["headrace"]["command"],
        "kubernetes.yaml": container["args"],
    }


@pytest.mark.parametrize("file", ["headrace.service", "Containerfile", "compose.yaml", "kubernetes.yaml"])
def test_the_command_of_a_file_is_accepted_by_the_command_line(file: str) -> None:
    program, verb, *options = commands()[file]
    assert program.endswith("headrace")
    serve = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    known = {flag: parameter for parameter in serve.params for flag in parameter.opts}
    assert [word for word in options if word.startswith("--") and word not in known] == []
    assert options[options.index("--data") + 1] == DATA


def test_a_restart_of_the_unit_does_not_kill_jobs_and_writes_only_its_own_directories() -> None:
    service = unit()["Service"]
    assert service["KillMode"] == "process"
    assert (service["ProtectSystem"], service["StateDirectory"]) == ("strict", "headrace")
    assert "MemoryDenyWriteExecute" not in service  # Java compiles code at run time
    assert service["User"] != "root"


def test_the_pod_has_one_replica_a_volume_for_checkpoints_and_no_root() -> None:
    pod = stateful_set()["spec"]
    assert pod["replicas"] == 1
    spec = pod["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    (container,) = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in spec["volumes"]}
    assert mounts["jobs"] == DATA
    assert str(spec["securityContext"]["runAsUser"]) in (DEPLOY / "Containerfile").read_text()
    probe = container["readinessProbe"]["httpGet"]["path"]
    assert probe == "/api/v1/health"


def test_compose_asks_for_a_token_and_names_the_variables_that_documents_may_expand() -> None:
    service = load_all("compose.yaml")[0]["services"]["headrace"]
    assert ":?" in service["environment"]["HEADRACE_TOKEN"]
    allowed = [word for word in service["command"] if word in service["environment"]]
    assert allowed == ["KAFKA", "PG"]
