"""The playground gives the rows of the transcripts of the documentation, in the browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from docs._making.playground import MODES, TRANSCRIPTS, TRIGGERS, WINDOWS, complete
from markdown import markdown  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from ruamel.yaml import YAML
from tests.support.browser import is_installed, open_browser

DOCS = Path(__file__).parents[2] / "docs"
AXE = Path(__file__).parents[1] / "dashboard" / "axe" / "axe.min.js"
SHELL = """<!doctype html><html lang="en"><head><title>Playground</title></head><body><main>{}</main></body></html>"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The playground as a page of its own; any request to another host fails the test."""
    site = tmp_path_factory.mktemp("site") / "playground"
    shutil.copytree(DOCS / "playground", site, ignore=shutil.ignore_patterns("__pycache__"))
    _, _, text = (DOCS / "playground" / "index.md").read_text().split("---\n", 2)
    # With `toc`, as in the site, headings have ids, which must differ from those of the page.
    (site / "index.html").write_text(
        SHELL.format(markdown(text, extensions=["toc", "attr_list", "md_in_html"]))
    )
    if not is_installed():
        pytest.skip("chromium is not installed")
    if not complete(site):
        pytest.skip("npm cannot download Pyodide")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        expect.set_options(timeout=120_000)
        hosts: list[str] = []
        page.on("request", lambda request: hosts.append(request.url))
        page.goto(address)
        page.wait_for_function("window.playgroundModel")
        yield page
        assert [url for url in hosts if not url.startswith((address, "data:"))] == []
    server.shutdown()
    server.server_close()


def test_every_scenario_gives_the_rows_of_its_transcript(playground: Page) -> None:
    for name in (*WINDOWS, *TRIGGERS, *MODES):
        documents = YAML(typ="safe").load_all((TRANSCRIPTS / f"{name}.transcript.yaml").read_text())
        for number, document in enumerate(documents):
            result = playground.evaluate(
                "id => { playgroundModel.choose(id); return playgroundModel.run(); }", f"{name}-{number}"
            )
            check(document["script"], [step["emitted"] for step in result["steps"]], name)


def check(script: list[dict[str, Any]], emitted: list[list[dict[str, Any]]], name: str) -> None:
    """Compare the rows since the last `expect` with each `expect` of a transcript."""
    actual: list[dict[str, Any]] = []
    steps = iter(emitted)
    for line in script:
        if "expect" not in line:
            actual += next(steps)
            continue
        for output, expected in line["expect"].items():
            kind = "late" if output.endswith(".late") else "main"
            rows = [row for row in actual if row["output"] == kind]
            assert len(rows) == len(expected), (name, line, rows)
            for row, part in zip(rows, expected, strict=True):
                assert fits(part, row), (name, part, row)
        actual = []


def fits(part: Any, row: Any) -> bool:
    """True if a row has the values of an expected one; the order within a list is that of the aggregate."""
    if isinstance(part, dict):
        return all(fits(value, row.get(key)) for key, value in part.items() if key != "late_by")
    return sorted(part) == sorted(row) if isinstance(part, list) else bool(part == row)


def test_pattern_gives_its_matches(playground: Page) -> None:
    result = playground.evaluate(
        "() => { playgroundModel.choose('patterns:-small,-then-large-at-once'); return playgroundModel.run(); }"
    )
    assert result["matches"] == [[["small", 3], ["large", 4]]]


def test_row_is_dragged_and_moved_by_keys_and_the_watermark_completes_windows(playground: Page) -> None:
    playground.evaluate("playgroundModel.choose('tumbling-0')")
    table = playground.locator("#time-line table")
    expect(table).to_contain_text("10 to 20 s")
    row = playground.get_by_role("slider", name="row 3", exact=True)
    row.focus()
    playground.keyboard.press("ArrowRight")
    expect(row).to_have_attribute("aria-valuenow", "3")
    box = row.bounding_box()
    assert box is not None
    playground.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
    playground.mouse.down()
    playground.mouse.move(box["x"] + 400, box["y"] + box["height"] / 2)
    playground.mouse.up()
    assert int(row.get_attribute("aria-valuenow") or 0) > 8
    playground.get_by_role("button", name="Reset").click()
    expect(row).to_have_attribute("aria-valuenow", "2")
    slider = playground.get_by_label("watermark after the last row")
    slider.fill("15")
    expect(table).not_to_contain_text("10 to 20 s")
    slider.fill("21")
    expect(table).to_contain_text("10 to 20 s")
    expect(playground.locator(".dropped")).to_contain_text("7 (too late)")


def test_axe_finds_no_serious_fault(playground: Page) -> None:
    playground.add_script_tag(path=AXE)
    actual = playground.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
    serious = [fault for fault in actual["violations"] if fault["impact"] in ("serious", "critical")]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in serious] == []
