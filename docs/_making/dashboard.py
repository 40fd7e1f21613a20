"""Take the screenshots of the dashboard: `python -m docs._making.dashboard`, in the root.

Runs the demo, a job that fails and a job that lags under a job service, and writes the pictures of the
documentation: those of the how-to page, and a gallery of every page in light and dark, 1440 and 390 pixels wide.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from examples.demo import copy_example, move_to_present, serve, submit
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tests.support.browser import open_browser

from headrace.jobs.model import Job, JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.submission import Submission
from headrace.metrics.alerts.rules import AlertRule, AlertSettings

DOCS = Path(__file__).parents[1]
TARGET = DOCS / "images" / "dashboard"
GALLERY = DOCS / "how-to" / "dashboard-gallery.md"
WIDE, NARROW = WIDTHS = 1440, 390
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

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Shot:
    """One picture: a page, its width and theme, and what is done first: a click, or a change."""

    name: str
    path: str
    title: str = ""
    width: int = WIDE
    theme: Theme = "light"
    click: str = ""
    whole: bool = True
    change: tuple[str, str] = ("", "")
    """A text of the editor, and what replaces it."""
    tables: tuple[tuple[str, str], ...] = ()
    """Rows of lookup tables; with them the document is tested on sample rows."""


PAGES = {
    "jobs": Shot("jobs", "/", title="All jobs"),
    "graph": Shot("graph", "/jobs/{job}", title="Graph of a job"),
    "step": Shot("step", "/jobs/{job}", title="A step", click=".react-flow__node[data-id=totals]"),
    "metrics": Shot("metrics", "/jobs/{job}/metrics", title="Metrics"),
    "data": Shot("data", "/jobs/{job}/data", title="Late data and dead letters", click=".records summary"),
    "runs": Shot("runs", "/jobs/{job}/runs", title="Runs"),
    "plan": Shot("plan", "/jobs/{job}/plan", title="Plan"),
    "edit": Shot("edit", "/jobs/{job}/edit", title="Editor with the plan of an upgrade", change=CHANGE),
    "flow": Shot("flow", "/jobs/{job}/edit#view=flow&entry=totals", title="Flow editor"),
    "test": Shot("test", "/jobs/{job}/edit", title="Test on sample rows", tables=HOMES),
    "failed": Shot("failed", "/jobs/{failed}", title="A job that failed"),
    "lagging": Shot("lagging", "/jobs/{lagging}", title="A job that lags"),
    "new": Shot("new", "/new", title="Submit a job"),
    "alerts": Shot("alerts", "/alerts", title="Alerts"),
    "users": Shot("users", "/users", title="Users"),
    "login": Shot("login", "/login", title="Log in"),
}
THEMES: tuple[Theme, ...] = get_args(Theme)
INTRODUCTION = """# All pages of the dashboard

The pages of the [dashboard](dashboard.md) in light and dark, on a desktop and on a phone. The pictures show the demo, a job that
failed and a job that lags; `python -m docs._making.dashboard` takes them. *About*, a list of versions, has no picture.
"""
PARTS = {
    "#graph": "#graph .react-flow__node",
    ".plot": ".plot canvas, #unmeasured:not([hidden])",
    "#editor": ".cm-content",
    "#flow": "#entry .field",
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
    Shot("flow", "/jobs/{job}/edit#view=flow&entry=totals"),
    Shot("test", "/jobs/{job}/edit", tables=HOMES, whole=False),
    Shot("phone", "/jobs/{job}", width=NARROW, whole=False),
)


def main() -> None:
    """Run the jobs, take the pictures and write the page that shows all of them."""
    parser = argparse.ArgumentParser(description="Screenshots of the dashboard.")
    parser.add_argument("--target", type=Path, default=TARGET, help="the directory of the pictures")
    parser.add_argument("--page", nargs="*", choices=PAGES, help="only these pages of the gallery")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the demo runs first")
    options = parser.parse_args()
    (options.target / "pages").mkdir(parents=True, exist_ok=True)
    with run_jobs() as (address, ids, service), open_browser() as browser:
        wait(service, ids["job"], options.seconds)
        for shot in every_page(options.page) if options.page else [*DOCUMENTED, *every_page(PAGES)]:
            file = options.target / f"{shot.name}.png"
            take(browser, address + shot.path.format(**ids), shot, file)
            sys.stderr.write(f"{file}\n")
    if options.target == TARGET:
        GALLERY.write_text(gallery())


def every_page(names: Iterable[str]) -> Iterator[Shot]:
    """Yield the pages with these names in both themes and widths."""
    for page in map(PAGES.__getitem__, names):
        for theme in THEMES:
            for width in WIDTHS:
                yield replace(page, name=picture_name(page.name, theme, width), width=width, theme=theme)


def picture_name(page: str, theme: str, width: int) -> str:
    """Return the name of a picture of the gallery, without its suffix."""
    return f"pages/{page}-{theme}-{width}"


def gallery() -> str:
    """Return the page with all pictures; the test of the documentation compares it with the file."""
    lines = [INTRODUCTION]
    for page in PAGES.values():
        lines += [f"## {page.title}", "", "| light | dark |", "|---|---|"]
        for width in WIDTHS:
            cells = [
                f"![{page.title}, {theme}, {width} pixels wide](../images/dashboard/{picture_name(page.name, theme, width)}.png)"
                for theme in THEMES
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


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
    context = browser.new_context(
        viewport={"width": shot.width, "height": 900 if shot.width == WIDE else 844},
        color_scheme=shot.theme,
    )
    context.set_default_timeout(120_000)
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
