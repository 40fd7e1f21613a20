"""Attacks by submitted pipelines on a service that others can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.access import restrict
from headrace.errors import DocumentError, HeadraceError, OptionError
from headrace.functions.reference import UserCode
from headrace.jobs.model import JobSettings
from headrace.jobs.security.documents import apply_defaults, check_submission, hide_secrets
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
        "{/etc/passwd,x*}",
        "{../}{../}etc/passw[d]",
        "{file,x}:/etc/passwd",
        "jar:file:/x!/y",
        "file:%2fetc/passwd",
        "in\\\\..\\\\x",
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
        "select (select max(value) from json.`/etc/passwd`) x from n",
        "select * from text . `n`",
        "select * from csv/**/.`n`",
        "select `/etc/passwd` from n",
    ],
)
def test_a_path_as_a_table_is_rejected(query: str) -> None:
    with pytest.raises(DocumentError, match=r"queried as a table|unknown source or step"):
        check(PLAIN.replace('{from: n, where: "n > 5"}', f'{{sql: "{query}"}}'))


@pytest.mark.parametrize("step", ["map", "flat_map", "filter", "map_batches", "process"])
def test_a_step_that_loads_python_is_rejected(step: str) -> None:
    with pytest.raises(DocumentError, match="loads Python"):
        check(PLAIN.replace('where: "n > 5"', f"{step}: os:system"))


@pytest.mark.parametrize(
    "lookup",
    [
        "files: {path: /etc/passwd, format: csv}",
        "sqlite: {path: /etc/homes.db, table: homes}",
        "files: {path: homes/}, format: {protobuf: {file: /etc/homes.desc, message: Home}}",
        "files: {path: homes/, format: {avro: {schema_file: /etc/homes.avsc}}}",
        "postgres: {url: 'postgresql://db/x?sslkey=/etc/key.pem', table: homes}, load: key",
        "redis: {url: 'unix:///run/redis.sock', hash: homes}, load: key",
    ],
)
def test_a_table_of_a_lookup_that_is_a_local_file_is_rejected(lookup: str) -> None:
    with pytest.raises(DocumentError, match="not accepted"):
        check(PLAIN.replace('where: "n > 5"', f"lookup: {{{lookup}, on: n, schema: 'n int, home string'}}"))


@pytest.mark.parametrize(
    "keys",
    [
        "window: {punctuation: CALL}",
        "window: {delta: {of: CALL, by: 1}}",
        "window: {landmark: {when: CALL}}",
        "window: {count: 5}, key_by: {k: CALL}",
    ],
)
def test_a_window_that_calls_java_is_rejected(keys: str) -> None:
    text = PLAIN.replace('where: "n > 5"', f"{keys}, aggregate: {{n: count(*)}}")
    with pytest.raises(DocumentError, match="calls Java"):
        check(text.replace("CALL", "\"reflect('java.lang.System', 'getenv')\""))


KAFKA = "{kafka: {servers: 'k:9092', topic: t, settings: {SETTING: x}}, format: json, schema: n int}"
SOURCE = "{generator: {rate: 10, columns: {n: sequence}}}"


@pytest.mark.parametrize(
    "setting",
    [
        "sasl.jaas.config",
        "ssl.truststore.location",
        "partition.assignment.strategy",
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.token.endpoint.url",
        "metric.reporters",
    ],
)
def test_a_client_setting_that_names_a_class_or_a_file_is_rejected(setting: str) -> None:
    with pytest.raises(DocumentError, match=f"the setting `{setting}` is not accepted"):
        check(PLAIN.replace(SOURCE, KAFKA.replace("SETTING", setting)))
    check(PLAIN.replace(SOURCE, KAFKA.replace("SETTING", "client.id")))
    check(PLAIN.replace(SOURCE, KAFKA.replace("SETTING", setting)), OPEN)


@pytest.mark.parametrize(
    "sink",
    [
        "postgres: {url: 'postgresql://db/x?sslkey=/etc/key.pem', table: t}",
        "postgres: {url: 'postgresql://db/x?connect_timeout=1#&passfile=/etc/key', table: t}",
        "postgres: {url: 'postgresql://db/x?%70assfile=%2Fetc%2Fkey', table: t}",
        "postgres: {url: 'postgresql://db/x?host=/var/run', table: t}",
        "postgres: {url: 'host=db dbname=x sslrootcert=/etc/ca', table: t}",
        "postgres: {url: 'host=/var/run dbname=x', table: t}",
        "postgres: {url: 'postgresql:///x', table: t}",
        "postgres: {url: 'postgresql://%2Fvar%2Frun/x', table: t}",
        "redis: {url: 'redis://db?ssl_keyfile=/etc/key', stream: s}",
        "redis: {url: 'unix:///run/redis.sock', stream: s}",
        "rabbitmq: {url: \"amqp://db/x?ssl_options={'keyfile':'/etc/key'}\", exchange: e}",
        "delta: {path: 's3://lake/t', storage: {AWS_WEB_IDENTITY_TOKEN_FILE: /etc/key}}",
        "webhook: {url: 'https://h/x', tls: {ca: /etc/ca.pem}}",
        "kafka: {servers: 'k:9092', topic: t, format: {avro: {schema_file: /etc/passwd}}}",
        "kafka: {servers: 'k:9092', topic: t, format: {protobuf: {file: /etc/passwd}}}",
    ],
)
def test_a_client_option_that_names_a_file_is_rejected(sink: str) -> None:
    with pytest.raises(DocumentError, match="not accepted") as caught:
        check(PLAIN.replace("files: {path: out/, format: json}", sink))
    assert caught.value.problems[0].where.startswith("p.yaml:4:")


@pytest.mark.parametrize(
    "source",
    [
        "{http: {listen: '0.0.0.0:8080', path: /events}, format: json, schema: n int}",
        "{files: {path: 'in/{a,b}/*.json'}, schema: n int}",
        "{files: {path: 's3a://bucket/in/', format: json}, schema: n int}",
        "{mqtt: {url: 'mqtt://broker', topics: ['/rooms/+']}, format: json, schema: n int}",
        "{postgres: {url: 'postgresql://ada:x@db,db2:5433/shop?sslmode=require', table: t, cursor: n}, schema: n int}",
        "{postgres: {url: \"host=db user=ada password='a b'\", table: t, cursor: n}, schema: n int}",
    ],
)
def test_an_option_that_uses_no_file_of_the_machine_is_accepted(source: str) -> None:
    check(PLAIN.replace(SOURCE, source).replace("n > 5", "true"))


@pytest.mark.parametrize(
    "expression",
    [
        "from_avro(x, '{}', map('avroSchemaUrl', 'file:///etc/passwd')) is null",
        "from_protobuf(x, 'M', '/etc/passwd') is null",
        "from_xml(x, 'a int', map('rowValidation' || 'XSDPath', '/etc/passwd')) is null",
    ],
)
def test_an_sql_function_with_a_file_is_rejected(expression: str) -> None:
    with pytest.raises(DocumentError, match=r"may (read|name) files"):
        check(PLAIN.replace("n > 5", expression))


def test_a_name_like_that_of_a_java_function_is_accepted() -> None:
    check(PLAIN.replace("n > 5", "n > 5 and 'reflect(1)' <> 'java_method'"))


@pytest.mark.parametrize(
    ("part", "attack"),
    [
        ('where: "n > 5"', '!!null filter: "colorsys:rgb_to_hsv"'),
        ('where: "n > 5"', '!!str filter: "colorsys:rgb_to_hsv"'),
        ("path: out/", 'path: !!binary "/etc//passwd"'),
        ("path: out/", 'path: !<tag:yaml.org,2002:binary> "/etc//passwd"'),
        ('n > 5"', "java_method('java.lang.System', 'getProperty', 'user.home') || 'is not null'\""),
        ("{from: n, where", "!!map {from: n, where"),
    ],
)
def test_a_tag_does_not_hide_a_part_of_a_document(part: str, attack: str) -> None:
    assert part in PLAIN
    with pytest.raises(DocumentError, match=r"YAML tag|calls Java"):
        check(PLAIN.replace(part, attack))


@pytest.mark.parametrize(
    "name",
    [
        "colorsys.py",
        "pyspark/__init__.py",
        "x.PYC",
        "lib.so.1",
        "a.pth",
        "a.zip",
        "a.whl",
        "a.tar.gz",
        "a.jar",
    ],
)
def test_uploaded_code_is_rejected(name: str) -> None:
    submission = Submission("p.yaml", {"p.yaml": PLAIN.encode(), name: b""})
    with pytest.raises(OptionError, match="is not accepted") as caught:
        check_submission(submission, CLOSED)
    assert caught.value.where == name
    check_submission(submission, Policy(host="0.0.0.0", allow_code=True))


@pytest.mark.parametrize("name", ["in.json", "events.json.gz", "schema.avsc", "x.parquet", "2026.11/a.csv"])
def test_uploaded_data_is_accepted(name: str) -> None:
    check_submission(Submission("p.yaml", {"p.yaml": PLAIN.encode(), name: b""}), CLOSED)


@pytest.mark.parametrize(
    "master", ["spark://203.0.113.1:7077", "k8s://x", "yarn", "local[500]", "local-cluster[2,1,1]"]
)
def test_another_master_is_rejected(master: str) -> None:
    for settings in (JobSettings(master=master), JobSettings(conf={"spark.master": master})):
        with pytest.raises(OptionError, match=r"master .* is not accepted|at most local"):
            check(PLAIN, settings=settings)
        with pytest.raises(OptionError, match=r"master .* is not accepted|at most local"):
            check(PLAIN, Policy(host="0.0.0.0", allow_code=True), settings=settings)
    check(PLAIN, Policy(host="0.0.0.0", master=master), settings=JobSettings(master=master))


@pytest.mark.parametrize("master", ["local", "local[1]", "local[*]", "local[1,4]"])
def test_a_local_master_is_accepted(master: str) -> None:
    check(PLAIN, settings=JobSettings(master=master))


def test_the_master_of_the_service_is_the_default() -> None:
    policy = Policy(master="spark://ours:7077")
    assert apply_defaults(JobSettings(), policy).master == "spark://ours:7077"
    assert apply_defaults(JobSettings(master="local[1]"), policy).master == "local[1]"


def test_only_allowed_variables_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_HOST", "db")
    document = PLAIN.replace("out/", "'${PG_HOST}/'")
    with pytest.raises(DocumentError, match="the variable `PG_HOST` is not accepted"):
        check(document)
    check(document, Policy(host="0.0.0.0", allow_variables=("PG_*",)))


def test_a_variable_that_is_not_allowed_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", "/etc")
    check(PLAIN.replace("out/", "'${OUT:-out/}'"))


@pytest.mark.parametrize(
    "sink",
    [
        "kafka: {servers: 'db:1,evil:2', topic: t}",
        "postgres: {url: 'postgresql://evil/x', table: t}",
        "postgres: {url: 'host=db hostaddr=10.0.0.1', table: t}",
        "webhook: {url: 'http://db@evil/x'}",
        "webhook: {url: 'http://evil#@db/x'}",
        "smtp: {host: evil, from: a@b, to: a@b, subject: x}",
        "kinesis: {stream: s, region: eu-north-1}",
        "delta: {path: 's3://evil/x'}",
        "delta: {path: 's3://db/x', storage: {AWS_ENDPOINT_URL: 'http://evil:9000'}}",
        "kafka: {servers: 'db:1', topic: t, format: {avro: {registry: 'http://evil'}}}",
    ],
)
def test_only_allowed_hosts_are_named(sink: str) -> None:
    document = PLAIN.replace("files: {path: out/, format: json}", sink)
    with pytest.raises(DocumentError, match="not accepted"):
        check(document, Policy(host="0.0.0.0", allow_hosts=("db",)))
    everything = Policy(host="0.0.0.0", allow_hosts=("*",))
    if "#" not in sink:
        check(document, everything)


def test_code_is_not_imported_by_a_restricted_service() -> None:
    with restrict(CLOSED.access), pytest.raises(OptionError, match="Python of `colorsys:x` is not accepted"):
        UserCode("colorsys:x").load()


def test_a_document_with_allowed_code_is_checked_without_an_import() -> None:
    policy = Policy(host="0.0.0.0", allow_code=True)
    document = PLAIN.replace('where: "n > 5"', "filter: no_such_module:keep")
    check(document, policy)
    with pytest.raises(DocumentError, match="path of the service's machine"):
        check(document.replace("out/", "/etc/"), policy)


def test_a_model_of_a_document_does_not_hide_its_expressions() -> None:
    predict = "{from: n, predict: {onnx: m.onnx, features: [n], output: risk double}}"
    document = PLAIN.replace("steps: {", f"steps: {{risk: {predict}, ")
    check(document)
    with pytest.raises(DocumentError, match="calls Java"):
        check(document.replace("n > 5", "reflect('java.lang.System', 'getenv')"))
    for model in ("sklearn: m.joblib", "function: 'm:predict'", "onnx: /etc/m.onnx"):
        with pytest.raises(DocumentError, match="not accepted"):
            check(document.replace("onnx: m.onnx", model))


def test_a_query_that_starts_a_program_is_rejected() -> None:
    for step in (
        "{sql: \"select transform(n) using 'id' as (a) from n\"}",
        "{from: n, where: \"n > (select transform(1) using 'id' as (a))\"}",
    ):
        with pytest.raises(DocumentError, match="starts a program"):
            check(PLAIN.replace('{from: n, where: "n > 5"}', step))


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
        "spark.sql.streaming.stateStore.compression.codec",
        "spark.sql.streaming.checkpointLocation",
        "spark.ui.enabled",
        "spark.sql.runSQLOnFiles",
        "spark.sql.ansi.doubleQuotedIdentifiers",
    ],
)
def test_a_setting_that_loads_code_or_uses_files_is_rejected(key: str) -> None:
    with pytest.raises(OptionError, match="can load code or use files"):
        check(PLAIN, settings=JobSettings(conf={key: "x"}))
    check(PLAIN, Policy(host="0.0.0.0", allow_code=True), settings=JobSettings(conf={key: "x"}))


def test_a_setting_with_a_variable_is_rejected() -> None:
    conf = {"spark.default.parallelism": "${env:AWS_SECRET_ACCESS_KEY}"}
    with pytest.raises(OptionError, match="a variable in a setting is not accepted"):
        check(PLAIN, settings=JobSettings(conf=conf))


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
    assert apply_defaults(JobSettings(), policy).memory == "1g"


def test_secret_settings_are_hidden() -> None:
    assert hide_secrets({"spark.ssl.keyPassword": "x"}) == {"spark.ssl.keyPassword": "***"}


def test_an_open_address_needs_credentials() -> None:
    with pytest.raises(OptionError, match="without a login"):
        CLOSED.check_bind(has_credentials=False)
    CLOSED.check_bind(has_credentials=True)
    OPEN.check_bind(has_credentials=False)


SQL = """CREATE SOURCE n (n BIGINT) WITH (connector = 'files', path = 'in/', format = 'json');
CREATE SINK out WITH (connector = 'files', path = 'out/', format = 'json') AS SELECT n FROM n;
"""


def check_sql(text: str, policy: Policy = CLOSED) -> None:
    check_submission(Submission("p.sql", {"p.sql": text.encode()}), policy)


def test_ordinary_script_is_accepted() -> None:
    check_sql(SQL)


@pytest.mark.parametrize("path", ["/etc/passwd", "../other-job/files", "${NOT_SET_ANYWHERE:-/etc/passwd}"])
def test_path_of_the_machine_in_a_script_is_rejected(path: str) -> None:
    with pytest.raises(DocumentError, match=r"p.sql:2:.* path of the service's machine"):
        check_sql(SQL.replace("out/", path))


def test_variable_in_a_script_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    with pytest.raises(DocumentError) as caught:
        check_sql(SQL.replace("out/", "${AWS_SECRET_ACCESS_KEY}"))
    assert "hush" not in str(caught.value)


def test_function_of_a_script_is_rejected_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scoring.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DocumentError, match="Python of `scoring:score` is not accepted"):
        check_sql(f"CREATE FUNCTION score AS 'scoring:score';\n{SQL}")


def test_java_in_an_expression_of_a_script_is_rejected() -> None:
    with pytest.raises(DocumentError):
        check_sql(SQL.replace("SELECT n", "SELECT java_method('java.lang.System', 'exit', 0) AS n"))


def test_script_that_is_nested_too_deeply_is_rejected() -> None:
    with pytest.raises(HeadraceError):
        check_sql(SQL.replace("SELECT n", f"SELECT {'(' * 20_000}n{')' * 20_000}"))
