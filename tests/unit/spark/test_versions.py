"""What older versions of Spark lack is an error that names the version."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Pipeline, connect, windows
from headrace.checkpoints.repartition import repartition
from headrace.errors import PlanError, SetupError
from headrace.runtime.real_time.run import check_plan
from headrace.spark import jars, versions
from headrace.spark.kernel_jar import KernelSources, installed_jar


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(versions, "spark_version", lambda home: request.param)


def pipeline(*, stateful: bool) -> Pipeline:
    kafka = connect.kafka(servers="localhost:9092", topic="t")
    pipeline = Pipeline("quick")
    rows = pipeline.read("rows", kafka, format="json", schema="k string, ts timestamp", on_error="skip")
    out = connect.kafka(servers="localhost:9092", topic="out")
    if stateful:
        windowed = rows.event_time("ts").key_by("k").window(windows.tumbling("1 minute"))
        windowed.aggregate("n", n="count(*)").write("out", out)
    else:
        rows.write("out", out)
    return pipeline


@pytest.mark.parametrize("spark", ["4.1.4"], indirect=True)
def test_real_time_mode_needs_4_2(spark: None) -> None:
    with pytest.raises(PlanError, match=r"real-time mode needs Spark 4\.2, this is Spark 4\.1\.4"):
        check_plan(pipeline(stateful=False)._plan())


@pytest.mark.parametrize("spark", ["4.2.1"], indirect=True)
def test_state_in_real_time_mode_needs_4_3(spark: None) -> None:
    check_plan(pipeline(stateful=False)._plan())
    with pytest.raises(
        PlanError, match=r"a step with state in real-time mode needs Spark 4\.3, this is Spark 4\.2\.1"
    ):
        check_plan(pipeline(stateful=True)._plan())


@pytest.mark.parametrize("spark", ["4.1.4"], indirect=True)
def test_rewriting_state_needs_4_2(spark: None, tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"number of partitions needs Spark 4\.2, this is Spark 4\.1\.4"
    ) as caught:
        repartition(pipeline(stateful=True)._plan(), tmp_path, 8)
    assert caught.value.hint == "pip install 'pyspark~=4.2.0', and the same version on the cluster"


@pytest.mark.parametrize("spark", ["4.1.4"], indirect=True)
def test_files_in_s3_need_4_2_unless_spark_has_the_jars(
    spark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = connect.files(path="s3a://lake/in", format="json")
    with pytest.raises(SetupError, match=r"the set of jars `s3` needs Spark 4\.2, this is Spark 4\.1\.4"):
        jars.jars_for([files])
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-aws-3.4.1.jar").touch()
    monkeypatch.setattr(jars, "find_spark_home", lambda: tmp_path)
    assert jars.jars_for([files]) == ()


@pytest.mark.parametrize(
    ("spark_core", "folders"),
    [
        ("4.1.4", {"scala", "scala-4.1"}),
        ("4.2.1", {"scala", "scala-4.2", "scala-4.2+"}),
        ("4.3.7", {"scala", "scala-4.2+"}),
    ],
)
def test_sources_of_other_versions_are_left_out(tmp_path: Path, spark_core: str, folders: set[str]) -> None:
    for folder in ("scala", "scala-4.1", "scala-4.2", "scala-4.2+"):
        (tmp_path / "src" / folder).mkdir(parents=True)
        (tmp_path / "src" / folder / "A.scala").write_text("class A")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{spark_core}.jar").touch()
    sources = KernelSources(tmp_path / "src", tmp_path)
    assert {file.parent.name for file in sources.files} == folders


def test_an_unsupported_spark_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.spark import kernel_jar

    monkeypatch.setattr(kernel_jar, "spark_version", lambda home: "4.4.0")
    with pytest.raises(SetupError) as caught:
        installed_jar()
    assert str(caught.value) == (
        "spark: Spark 4.4.0 is not supported, but 4.1, 4.2 and 4.3 are\n  hint: pip install 'pyspark~=4.3.0'"
    )
