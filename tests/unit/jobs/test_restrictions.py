"""Attacks by submitted pipelines on a service that others can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import DocumentError, HeadraceError, OptionError
from headrace.jobs.model import JobSettings
from headrace.jobs.security.documents import check_submission, hide_secrets, limit_memory
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import Submission

OPEN, CLOSED = Policy(), Policy(host="0.0.0.0")
PLAIN = """
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
steps: {big: {from: n, where: "n > 5"}}
sinks: {out: {from: big, files: {path: out/, format: json}}}
"""


def check(text: str, policy: Policy = CLOSED, **more: object) -> None:
    submission = Submission("p.yaml", {"p.yaml": text.encode()}, **more)  # type: ignore[arg-type]
    check_submission(submission, policy)


def test_an_ordinary_document_is_accepted() -> None:
    check(PLAIN)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        " /etc/passwd",
        "~/secrets",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "../other-job/files",
        "data/../../x",
        "${NOT_SET_ANYWHERE:-/etc/passwd}",
        "postgresql://db/x?sslkey=/etc/key.pem",
        "postgresql://db/x?passfile=%2Fetc%2Fkey",
    ],
)
def test_a_local_path_is_rejected(path: str) -> None:
    with pytest.raises(DocumentError, match="path of the service's machine"):
        check(PLAIN.replace("out/", f'"{path}"'))


@pytest.mark.parametrize(
    "expression",
    [
        "reflect('java.lang.Runtime', 'x')",
        "REFLECT ('java.lang.System', 'getenv')",
        "`reflect`('java.lang.System', 'getenv')",
        "reflect/* /* */ */('java.lang.System', 'getenv')",
        "'--' || java_method('java.lang.System', 'getenv')",
        "try_reflect('java.lang.System', 'getenv')",
    ],
)
def test_a_call_of_java_is_rejected(expression: str) -> None:
    with pytest.raises(DocumentError, match="calls Java"):
        check(PLAIN.replace("n > 5", expression))


@pytest.mark.parametrize(
    "query",
    [
        "select * from json.`/etc/passwd`",
        "select * from text . `x`",
        "select * from csv/**/.`x`",
        "select * from `anything`.`/etc/passwd`",
    ],
)
def test_a_path_as_a_table_is_rejected(query: str) -> None:
    with pytest.raises(DocumentError, match="queried as a table"):
        check(PLAIN.replace('{from: n, where: "n > 5"}', f'{{sql: "{query}"}}'))


@pytest.mark.parametrize("step", ["map", "flat_map", "filter", "map_batches", "process"])
def test_a_step_that_loads_python_is_rejected(step: str) -> None:
    with pytest.raises(DocumentError, match="loads Python"):
        check(PLAIN.replace('where: "n > 5"', f"{step}: os:system"))


def test_an_option_that_loads_code_is_rejected() -> None:
    with pytest.raises(DocumentError, match="can load code"):
        check(PLAIN.replace("format: json", "sasl.jaas.config: com.sun.security.auth.module.JndiLoginModule"))


def test_a_python_file_is_rejected() -> None:
    with pytest.raises(OptionError, match="Python file"):
        check_submission(Submission("p.py", {"p.py": b""}), CLOSED)


@pytest.mark.parametrize(
    "key",
    [
        "spark.driver.extraJavaOptions",
        "spark.driver.extraLibraryPath",
        "spark.jars",
        "spark.plugins",
        "spark.eventLog.dir",
        "spark.metrics.conf.*.sink.csv.class",
        "spark.shuffle.manager",
        "spark.sql.streaming.stateStore.providerClass",
        "spark.sql.streaming.checkpointLocation",
        "spark.ui.enabled",
    ],
)
def test_a_setting_that_loads_code_or_uses_files_is_rejected(key: str) -> None:
    with pytest.raises(OptionError, match="can load code or use files"):
        check(PLAIN, settings=JobSettings(conf={key: "x"}))
    check(PLAIN, Policy(host="0.0.0.0", allow_code=True), settings=JobSettings(conf={key: "x"}))


@pytest.mark.parametrize(
    "key",
    [
        "spark.driver.memory",
        "spark.executor.cores",
        "spark.sql.shuffle.partitions",
        "spark.sql.streaming.pollingDelay",
        "spark.sql.session.timeZone",
    ],
)
def test_a_setting_of_size_or_speed_is_accepted(key: str) -> None:
    check(PLAIN, settings=JobSettings(conf={key: "1"}))


def test_a_working_directory_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="working directory"):
        check(PLAIN, directory=str(tmp_path))


def test_an_allowed_directory_is_accepted(tmp_path: Path) -> None:
    allowed = Policy(host="0.0.0.0", allow_files=tmp_path)
    check(PLAIN.replace("out/", f"{tmp_path}/out"), allowed)
    with pytest.raises(HeadraceError):
        check(PLAIN.replace("out/", f"{tmp_path}/../x"), allowed)


def test_allowed_code_is_accepted() -> None:
    check(PLAIN.replace("n > 5", "reflect('a', 'b')"), Policy(host="0.0.0.0", allow_code=True))


def test_on_loopback_nothing_is_restricted() -> None:
    check(PLAIN.replace("out/", "/tmp/out").replace("n > 5", "reflect('a', 'b')"), OPEN)


def test_memory_is_limited() -> None:
    policy = Policy(memory_limit="1g")
    with pytest.raises(OptionError, match="at most 1g"):
        check(PLAIN, policy, settings=JobSettings(memory="2g"))
    with pytest.raises(OptionError, match="at most 1g"):
        check(PLAIN, policy, settings=JobSettings(conf={"spark.driver.memory": "1100m"}))
    assert limit_memory(JobSettings(), policy).memory == "1g"


def test_secret_settings_are_hidden() -> None:
    assert hide_secrets({"spark.ssl.keyPassword": "x"}) == {"spark.ssl.keyPassword": "***"}


def test_an_open_address_needs_credentials() -> None:
    with pytest.raises(OptionError, match="without a login"):
        CLOSED.check_bind(has_credentials=False)
    CLOSED.check_bind(has_credentials=True)
    OPEN.check_bind(has_credentials=False)
