"""Take the screenshots of the dashboard: `python -m docs._making.dashboard`, in the root.

Runs the demo, a job that fails and a job that lags under a job service, and writes the pictures of the
documentation.
`--all DIRECTORY` writes every page instead, in light and dark, 1440 and 390 pixels wide, for a review.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from examples.demo import copy_example, move_to_present, serve, submit
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tests.support.browser import open_browser

from headrace.jobs.model import Job, JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.submission import Submission
from headrace.metrics.alerts.rules import AlertRule, AlertSettings

TARGET = Path(__file__).parents[1] / "images" / "dashboard"
WIDE, NARROW = 1440, 390
SECONDS = 90.0
"""How long the demo runs before the pictures are taken, so that the charts have lines."""
FAILING = """name: orders-import
sources: {orders: {files: {path: missing/orders.csv}, format: csv, schema: "id string, amount double"}}
sinks: {table: {from: orders, sqlite: {path: orders.db, table: orders, key: [id]}}}
"""
LAGGING = """name: deliveries
sources:
  scans:
    generator: {replay: events.jsonl, time: ts, speed: 5}
    format: json
    schema: id string, card string, country string, amount double, ts timestamp
    event_time: {column: ts, out_of_order: 1 minute}
steps:
  by_country: {from: scans, key_by: country, window: {tumbling: 1 minute}, aggregate: {parcels: count(*)}}
sinks: {table: {from: by_country, sqlite: {path: parcels.db, table: parcels, key: [country, window]}}}
"""
CHANGE = ("largest > 500", "largest > 400")
HOMES = (("with_home", "\n".join(f'{{"card": "card-{n:02}", "home": "DE"}}' for n in range(1, 41))),)
RULE = AlertRule(alert="watermark_delay", above=600, job="deliveries")


@dataclass(frozen=True)
class Shot:
    """One picture: a page, its width and theme, and what is done first: a click, or a change."""

    name: str
    path: str
    width: int = WIDE
    theme: str = "light"
    click: str = ""
    whole: bool = True
    change: tuple[str, str] = ("", "")
    """A text of the editor, and what replaces it."""
    tables: tuple[tuple[str, str], ...] = ()
    """Rows of lookup tables; with them the document is tested on sample rows."""


PAGES = {
    "jobs": Shot("jobs", "/"),
    "graph": Shot("graph", "/jobs/{job}"),
    "step": Shot("step", "/jobs/{job}", click=".react-flow__node[data-id=totals]"),
    "metrics": Shot("metrics", "/jobs/{job}/metrics"),
    "data": Shot("data", "/jobs/{job}/data", click=".records summary"),
    "runs": Shot("runs", "/jobs/{job}/runs"),
    "plan": Shot("plan", "/jobs/{job}/plan"),
    "edit": Shot("edit", "/jobs/{job}/edit", change=CHANGE),
    "test": Shot("test", "/jobs/{job}/edit", tables=HOMES),
    "letters": Shot("letters", "/jobs/{job}/edit?dead_letters=payments.dead_letters", tables=HOMES),
    "failed": Shot("failed", "/jobs/{failed}"),
    "lagging": Shot("lagging", "/jobs/{lagging}"),
    "new": Shot("new", "/new"),
    "alerts": Shot("alerts", "/alerts"),
    "users": Shot("users", "/users"),
    "about": Shot("about", "/about"),
    "login": Shot("login", "/login"),
}
PARTS = {
    "#graph": "#graph .react-flow__node",
    ".plot": ".plot canvas, #unmeasured:not([hidden])",
    "#editor": ".cm-content",
    "[hx-trigger=load]": "#executors-title, [hx-trigger=load] h2",
}
"""Elements of pages, and what has to appear before a picture is taken."""
DOCUMENTED = (
    Shot("jobs", "/", whole=False),
    Shot("graph", "/jobs/{job}"),
    Shot("graph-dark", "/jobs/{job}", theme="dark"),
    Shot("step", "/jobs/{job}", click=PAGES["step"].click),
    Shot("metrics", "/jobs/{job}/metrics"),
    Shot("data", "/jobs/{job}/data", click=PAGES["data"].click),
    Shot("edit", "/jobs/{job}/edit", theme="dark", change=CHANGE),
    Shot("test", "/jobs/{job}/edit", tables=HOMES, whole=False),
    Shot("phone", "/jobs/{job}", width=NARROW, whole=False),
)


def main() -> None:
    """Run the jobs and take the pictures."""
    parser = argparse.ArgumentParser(description="Screenshots of the dashboard.")
    parser.add_argument("--all", type=Path, metavar="DIRECTORY", help="every page, for a review")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the demo runs first")
    options = parser.parse_args()
    shots = list(every_page()) if options.all else DOCUMENTED
    target: Path = options.all or TARGET
    target.mkdir(parents=True, exist_ok=True)
    with run_jobs() as (address, ids, service), open_browser() as browser:
        wait(service, ids["job"], options.seconds)
        for shot in shots:
            take(browser, address + shot.path.format(**ids), shot, target / f"{shot.name}.png")
            sys.stderr.write(f"{target / shot.name}.png\n")


def every_page() -> Iterator[Shot]:
    """Yield every page in both themes and widths."""
    for page in PAGES.values():
        for theme in ("light", "dark"):
            for width in (WIDE, NARROW):
                name = f"{page.name}-{theme}-{width}"
                yield replace(page, name=name, width=width, theme=theme)


@contextmanager
def run_jobs() -> Iterator[tuple[str, dict[str, str], JobService]]:
    """Run three jobs; yield the address of the pages and the ids of the jobs."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "demo"
        copy_example(directory, 40)
        move_to_present(directory / "events.jsonl")
        service = JobService(Path(place) / "data", alerts=AlertSettings(rules=[*AlertSettings().rules, RULE]))
        try:
            with serve(service, 0) as address:
                job = submit(service, directory, once=False, master=None)
                others = {"failed": submit_failing(service), "lagging": submit_lagging(service, directory)}
                try:
                    yield (
                        address,
                        {"job": job.id, **{name: each.id for name, each in others.items()}},
                        service,
                    )
                finally:
                    for each in service.jobs():
                        if each.state.active:
                            service.kill(each.id)
        finally:
            service.close()


def submit_failing(service: JobService) -> Job:
    """Submit a job whose input is missing."""
    files = {"orders.yaml": FAILING.encode()}
    return service.submit(Submission("orders.yaml", files, settings=JobSettings(restart_limit=0)))


def submit_lagging(service: JobService, directory: Path) -> Job:
    """Submit a job that reads old events slowly."""
    files = {"deliveries.yaml": LAGGING.encode()}
    return service.submit(Submission("deliveries.yaml", files, directory=str(directory)))


def wait(service: JobService, job: str, seconds: float) -> None:
    """Wait until the job has read rows, and then some time more.

    Raises:
        SystemExit: the job has failed.
    """
    deadline = time.monotonic() + 600
    while not service.snapshot(service.get(job))["metrics"]["rows_in"]:
        if time.monotonic() > deadline or not service.get(job).state.active:
            sys.exit(f"the demo did not start:\n{service.logs(job)}")
        time.sleep(0.5)
    time.sleep(seconds)


def take(browser: Browser, url: str, shot: Shot, file: Path) -> None:
    """Open a page, wait until it is drawn, and store the picture."""
    scheme = "dark" if shot.theme == "dark" else "light"
    context = browser.new_context(
        viewport={"width": shot.width, "height": 900 if shot.width == WIDE else 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(url)
    settle(page)
    if shot.click and page.locator(shot.click).count():
        page.locator(shot.click).first.click()
        page.wait_for_timeout(800)
    if all(shot.change):
        change_document(page, *shot.change)
    if shot.tables:
        run_test(page, shot.tables)
    page.screenshot(path=file, full_page=shot.whole)
    context.close()
    reduce_colours(file)


def change_document(page: Page, old: str, new: str) -> None:
    """Edit the document of a job and wait for the plan of the upgrade."""
    edit = """([old, insert]) => {
        const from = editor.state.doc.toString().indexOf(old);
        editor.dispatch({changes: {from, to: from + old.length, insert}});
    }"""
    page.evaluate(edit, [old, new])
    page.locator("[data-verdict]").wait_for(timeout=120_000)


def run_test(page: Page, tables: tuple[tuple[str, str], ...]) -> None:
    """Run the document on rows of the job and wait for the rows of its sinks."""
    if not page.locator("#test[open]").count():
        page.locator("#test > summary").click()
    expect(page.locator("#inputs textarea").first).not_to_have_value("", timeout=120_000)
    for name, rows in tables:
        page.locator(f"[data-input={name}]").fill(rows)
        page.locator(f"[data-input={name}]").evaluate("rows => rows.scrollTo(0, 0)")
    page.locator("#test-run").click()
    page.locator("#test-result h3, .problems").first.wait_for(timeout=300_000)


def reduce_colours(file: Path) -> None:
    """Store a picture with 256 colours, which takes a third of the space."""
    with Image.open(file) as picture:
        reduced = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)


def settle(page: Page) -> None:
    """Wait for the graph and the charts of a page, and for a first live message."""
    for place, part in PARTS.items():
        if page.locator(place).first.is_visible():
            page.locator(part).first.wait_for(timeout=120_000)
    page.wait_for_timeout(2500)


if __name__ == "__main__":
    main()
