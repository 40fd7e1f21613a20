"""Jars: the lock, and downloads that resume, verify and can come from a mirror. The server is a real one."""

from __future__ import annotations

import functools
import hashlib
import http.server
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headrace.errors import OptionError, SetupError
from headrace.spark import jars
from headrace.spark.download import Download, download

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
COORDINATES = "org.example:tool:1.0"
PATH = "org/example/tool/1.0/tool-1.0.jar"


@dataclass
class Repository:
    """A Maven repository on a port of this machine, which can misbehave."""

    files: dict[str, bytes] = field(default_factory=dict)
    breaks_after: list[int] = field(default_factory=list)
    takes_ranges: bool = True
    ranges: list[str | None] = field(default_factory=list)
    url: str = ""


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, repository: Repository, *arguments: object) -> None:
        self.repository = repository
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.repository.ranges.append(self.headers["Range"])
        content = self.repository.files.get(self.path.removeprefix("/maven/"))
        if content is None:
            self.send_error(404)
            return
        asked = (
            re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
            if self.repository.takes_ranges
            else None
        )
        rest = content[int(asked[1]) :] if asked else content
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(
            rest[: self.repository.breaks_after.pop(0)] if self.repository.breaks_after else rest
        )

    def log_message(self, *arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    served = Repository(files={PATH: CONTENT})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, served)) as server:
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        served.url = f"http://127.0.0.1:{server.server_port}/maven"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of one set of one jar, and an empty cache."""
    jar = jars.Jar(COORDINATES, SHA256, len(CONTENT))
    monkeypatch.setattr(jars, "jar_sets", lambda lock: {"tools": jars.JarSet("tools", "show it", (jar,))})
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADRACE_MAVEN_MIRROR", raising=False)


def make_download(repository: Repository, directory: Path, sha256: str = SHA256) -> Download:
    return Download(f"{repository.url}/{PATH}", directory / "tool.jar", sha256, len(CONTENT))


def test_every_jar_of_the_lock_is_pinned() -> None:
    for known in jars.jar_sets().values():
        for jar in known.jars:
            assert re.fullmatch(r"[\w.-]+:[\w.-]+:[\w.-]+", jar.maven)
            assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256)
            assert jar.size > 0


@pytest.mark.usefixtures("lock")
def test_a_set_is_downloaded_once(repository: Repository, tmp_path: Path) -> None:
    paths = jars.fetch("tools", mirror=repository.url)
    assert paths == (tmp_path / "cache" / "jars" / PATH,)
    assert paths[0].read_bytes() == CONTENT
    assert jars.fetch("tools", mirror=repository.url) == paths
    assert len(repository.ranges) == 1


@pytest.mark.usefixtures("lock")
def test_the_mirror_can_be_named_in_the_environment(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_MAVEN_MIRROR", f"{repository.url}/")
    assert jars.fetch("tools")[0].read_bytes() == CONTENT


@pytest.mark.usefixtures("lock")
def test_a_truncated_jar_in_the_cache_is_downloaded_again(repository: Repository) -> None:
    [path] = jars.fetch("tools", mirror=repository.url)
    path.write_bytes(CONTENT[:10])
    assert jars.fetch("tools", mirror=repository.url)[0].read_bytes() == CONTENT


def test_a_broken_download_goes_on_where_it_stopped(repository: Repository, tmp_path: Path) -> None:
    repository.breaks_after = [100_000, 50_000]
    pauses: list[float] = []
    download(make_download(repository, tmp_path), pause=pauses.append)
    assert (tmp_path / "tool.jar").read_bytes() == CONTENT
    assert repository.ranges == [None, "bytes=100000-", "bytes=150000-"]
    assert pauses == [0.5, 1.0]


def test_a_later_process_goes_on_as_well(repository: Repository, tmp_path: Path) -> None:
    wanted = make_download(repository, tmp_path)
    wanted.part.write_bytes(CONTENT[:200_000])
    seen: list[int] = []
    download(wanted, lambda _, done: seen.append(done))
    assert repository.ranges == ["bytes=200000-"]
    assert (seen[0], seen[-1]) == (200_000, len(CONTENT))
    assert not wanted.part.exists()


def test_a_server_that_ignores_the_range_is_read_from_the_start(
    repository: Repository, tmp_path: Path
) -> None:
    repository.takes_ranges = False
    wanted = make_download(repository, tmp_path)
    wanted.part.write_bytes(b"x" * 1000)
    download(wanted)
    assert wanted.target.read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_thrown_away(repository: Repository, tmp_path: Path) -> None:
    wanted = make_download(repository, tmp_path)
    wanted.part.write_bytes(CONTENT + b"more")
    download(wanted)
    assert wanted.target.read_bytes() == CONTENT


def test_another_file_than_the_locked_one_is_refused(repository: Repository, tmp_path: Path) -> None:
    wanted = make_download(repository, tmp_path, sha256="0" * 64)
    with pytest.raises(SetupError) as caught:
        download(wanted)
    assert f"is not the expected file: expected SHA-256 {'0' * 64}, got {SHA256}" in str(caught.value)
    assert "hint: retry; if it happens again, set HEADRACE_MAVEN_MIRROR" in str(caught.value)
    assert not wanted.target.exists()
    assert not wanted.part.exists()


def test_a_connection_that_keeps_breaking_gives_up_and_keeps_what_came(
    repository: Repository, tmp_path: Path
) -> None:
    repository.breaks_after = [1000, 1000, 1000, 1000]
    wanted = make_download(repository, tmp_path)
    with pytest.raises(OSError, match=r"ended after 4000 of 256000 bytes|IncompleteRead"):
        download(wanted, pause=lambda seconds: None)
    assert wanted.part.stat().st_size == 4000


@pytest.mark.usefixtures("lock")
def test_a_repository_without_the_jar_is_queried_once(repository: Repository) -> None:
    repository.files.clear()
    with pytest.raises(SetupError) as caught:
        jars.fetch("tools", mirror=repository.url)
    assert str(caught.value) == (
        f"jars tools: tool-1.0.jar cannot be downloaded from {repository.url}: HTTP Error 404: Not Found\n"
        "  hint: retry (the download resumes), or set HEADRACE_MAVEN_MIRROR to a reachable repository"
    )
    assert len(repository.ranges) == 1


def test_an_unknown_set_names_the_nearest() -> None:
    with pytest.raises(OptionError) as caught:
        jars.fetch("kafak")
    assert (
        str(caught.value)
        == "jars: unknown jar set 'kafak'\n  hint: did you mean `kafka`? Known: kafka, kafka-broker, s3"
    )


def test_the_command_pins_a_jar(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert jars.main(["pin", COORDINATES, "--mirror", repository.url]) == 0
    assert capsys.readouterr().out == f'{{ maven = "{COORDINATES}", size = 256000, sha256 = "{SHA256}" }},\n'


@pytest.mark.parametrize(
    ("coordinates", "text"),
    [
        ("org.example:tool", "jars pin: expected GROUP:ARTIFACT:VERSION, got 'org.example:tool'"),
        ("org.example:tool:2.0", "tool-2.0.jar cannot be read: HTTP Error 404: Not Found"),
    ],
)
def test_the_command_states_what_it_cannot_pin(
    repository: Repository, capsys: pytest.CaptureFixture[str], coordinates: str, text: str
) -> None:
    assert jars.main(["pin", coordinates, "--mirror", repository.url]) == 1
    assert text in capsys.readouterr().err


def test_coordinates_may_have_a_classifier_and_another_type() -> None:
    archive = jars.Jar("io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz", "", 0)
    assert archive.path == ("io/apicurio/apicurio-registry-app/3.3.3/apicurio-registry-app-3.3.3-all.tar.gz")
