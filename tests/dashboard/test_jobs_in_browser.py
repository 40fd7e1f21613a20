"""The pages over the real job service, driven by a browser: submit, watch, stop, drain, inspect, edit."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from headrace.dashboard.editor.starters import STARTER
from headrace.jobs.sample_runs import SampleRuns
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import PrincipalStore, Role
from headrace.jobs.submission import Submission
from tests.dashboard.conftest import TIMEOUT_MS, OpenPage, serve_jobs
from tests.support.waiting import wait_until

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def running(service_url: str, browser: object) -> str:
    """The page of a job that runs."""
    import httpx

    answer = httpx.post(
        f"{service_url}/api/v1/jobs", json={"name": "sensors", "document": STARTER}, timeout=60
    )
    assert answer.status_code == 201, answer.text
    return f"{service_url}/jobs/{answer.json()['id']}"


def wait_for_state(page: Page, word: str) -> None:
    expect(page.locator("#state")).to_have_text(re.compile(word))


def test_first_job_is_written_and_submitted_from_the_empty_page(
    service_url: str, open_page: OpenPage
) -> None:
    page = open_page(service_url)
    page.get_by_role("link", name="Write the first job").click()
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.get_by_label("Name").fill("from-the-page")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="from-the-page")).to_be_visible()
    wait_for_state(page, "Running")
    expect(page.locator(".react-flow__node", has_text="averages")).to_be_visible()


def test_job_is_built_in_the_flow_with_the_mouse_and_submitted(service_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{service_url}/new#view=flow", width=1440)
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.get_by_text("Templates").click()
    page.get_by_role("button", name="Empty").click()
    canvas, nodes = page.locator("#canvas"), page.locator("#flow .react-flow__node")
    expect(nodes).to_have_count(0)  # the flow shows the empty document
    item = page.locator("#palette [data-item='sources/generator']")
    item.drag_to(canvas)
    expect(nodes).to_have_count(1)
    page.locator("#flow .react-flow__pane").click(position={"x": 20, "y": 20})  # select nothing
    page.get_by_role("button", name="Window", exact=True).click()
    expect(page.locator("#field-from-fault")).to_contain_text("expected the name of a source or step")
    drag(page, "generator", "main", "window", "from")
    expect(page.locator("#flow .react-flow__edge")).to_have_count(1)
    page.locator("#palette [data-item='sinks/console']").drag_to(nodes.filter(has_text="window"))
    expect(page.locator("#flow .react-flow__edge")).to_have_count(2)
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    drag(page, "window", "late", "to_console", "from")
    wait_until(lambda: "from: window.late" in page.evaluate("editor.state.doc.toString()"))
    page.get_by_label("Name", exact=True).fill("from-the-flow")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="from-the-flow")).to_be_visible()
    wait_for_state(page, "Running")


def drag(page: Page, source: str, output: str, target: str, entry: str) -> None:
    """Drag from an output handle to an input handle."""
    place = "#flow .react-flow__handle[data-nodeid='{}'][data-handleid='{}']"
    handles = [page.locator(place.format(*ends)) for ends in ((source, output), (target, entry))]
    boxes = [handle.bounding_box() for handle in handles]
    while boxes != (boxes := [handle.bounding_box() for handle in handles]):
        page.wait_for_function("() => new Promise(requestAnimationFrame)")  # the layout is still moving
    (x0, y0), (x1, y1) = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box]
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2, steps=4)
    page.mouse.move(x1, y1, steps=4)
    page.mouse.up()


def test_numbers_move_without_a_reload(running: str, open_page: OpenPage) -> None:
    page = open_page(running)
    wait_for_state(page, "Running")
    page.locator(".react-flow__node", has_text="readings").click()
    count = page.locator('#step [data-live="nodes/readings/rows_out"]')
    before = int(count.inner_text())
    page.evaluate("window.same = true")
    wait_until(lambda: int(count.inner_text()) > before)
    assert page.evaluate("window.same")
    expect(page.locator("#live")).to_have_text("● Live")
    expect(page.locator("#step pre").first).to_contain_text("generator")


def test_scale_restarts_the_job_with_other_partitions(running: str, open_page: OpenPage) -> None:
    page = open_page(running)
    wait_for_state(page, "Running")
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Scale").click()
    page.get_by_label("State partitions").fill("4")
    page.locator("#scale").get_by_role("button", name="Scale").click()
    expect(page.locator(".toast")).to_contain_text("Restarting with other partitions")
    wait_for_state(page, "Running")
    settings = page.request.get(running.replace("/jobs/", "/api/v1/jobs/")).json()["settings"]
    assert settings["partitions"] == 4


def test_dead_letter_shows_payload_and_reason(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/data")
    letter = page.locator(".records li").first
    expect(letter).to_contain_text("expected double")
    letter.locator("summary").click()
    expect(letter.locator("pre")).to_have_text('{"sensor": "s-1", "value": "warm"}')
    page.locator("#search").fill("no such text")
    expect(page.locator("#data-rows")).to_contain_text("No row")


def test_dead_letters_are_downloaded(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/data")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename.endswith("readings.dead_letters.jsonl")
    assert "expected double" in download.value.path().read_text()


def test_document_is_tested_before_it_is_submitted(tmp_path: Path, open_page: OpenPage) -> None:
    rows = [{"sensor": "sensor-1", "n": 1, "mean": 2.5}]
    outputs = [{"name": "printed", "kind": "sink", "count": 1, "rows": rows}]
    answer = f"""
import json, pathlib, sys
place = pathlib.Path(sys.argv[1])
assert "sensor-1" in json.loads((place / "request.json").read_text())["rows"]["readings"]
(place / "result.json").write_text(json.dumps({{"result": {{"outputs": {outputs!r}, "dropped": 2}}}}))
"""
    with serve_jobs(tmp_path) as (service, url):
        service.sample_runs = SampleRuns(service.policy, command=[sys.executable, "-c", answer])
        page = open_page(f"{url}/new")
        expect(page.locator("#checked")).to_have_text("✓ Valid")
        page.get_by_text("Test on sample rows").click()
        page.get_by_role("textbox", name="readings").fill('{"sensor": "sensor-1", "value": 2.5}')
        page.get_by_role("button", name="Run the test").click()
        result = page.locator("#test-result")
        expect(result.get_by_role("row", name="sensor-1")).to_contain_text("2.5")
        expect(result).to_contain_text("2 late rows dropped by Spark's own operators")
        page.get_by_role("textbox", name="readings").fill("no row")
        service.sample_runs = SampleRuns(
            service.policy, command=[sys.executable, "-c", "raise SystemExit(3)"]
        )
        page.get_by_role("button", name="Run the test").click()
        expect(result).to_contain_text("the process of the run ended with exit status 3")


def test_log_is_searched_and_followed(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/runs")
    lines = page.locator("#log > div")
    expect(lines.first).to_contain_text("rows so far")
    before = lines.count()
    wait_until(lambda: lines.count() > before)
    page.locator("#search").fill("Z 0 rows")
    expect(lines).to_have_count(1)


def test_savepoint_is_created_by_button(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/runs")
    page.get_by_role("button", name="Create a savepoint").click()
    page.get_by_label("Name", exact=True).fill("before-lunch")
    with page.expect_request(lambda request: request.url.endswith("/savepoint")) as request:
        page.get_by_role("button", name="Create", exact=True).click()
    assert request.value.post_data_json == {"name": "before-lunch"}
    expect(page.locator(".toast.bad")).to_contain_text(
        "there is no checkpoint"
    )  # this driver stores no state


def test_alert_rule_is_added_and_deleted_by_button(service_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{service_url}/alerts")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Fires if").select_option(label="records wait in the sources")
    page.get_by_label("Threshold").fill("5000")
    page.get_by_label("Only if it holds for").fill("soon")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".toast.bad")).to_contain_text("expected a duration")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Threshold").fill("5000")
    page.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row", name="more than 5,000 records, for 1 minute")
    expect(row).to_be_visible()
    row.get_by_role("button", name="Delete lag").click()
    page.locator("#confirm-yes").click()
    expect(row).to_have_count(0)


def test_error_of_a_document_is_shown_at_its_line(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/edit")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.evaluate("""() => {
        const text = window.editor.state.doc.toString(), from = text.indexOf("avg(value)");
        window.editor.dispatch({changes: {from: from + 4, to: from + 9, insert: "valeu"}});
    }""")
    expect(page.locator("#checked")).to_have_text(re.compile("1 problem"))
    line = page.evaluate(
        "window.editor.state.doc.toString().split('\\n').findIndex(l => l.includes('valeu')) + 1"
    )
    expect(page.locator("#problems li")).to_contain_text(f"line {line} ")
    expect(page.locator(".cm-line", has_text="valeu").locator(".cm-lintRange-error")).not_to_have_count(0)


def test_sample_job_starts_with_one_click(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_jobs(tmp_path) as (_, url):
        page = open_page(url)
        page.get_by_role("button", name="Start a sample job").click()
        expect(page.get_by_role("heading", name="first-job")).to_be_visible()
        wait_for_state(page, "Running")


def test_job_is_upgraded_from_the_editor(running: str, open_page: OpenPage) -> None:
    page = open_page(f"{running}/edit")
    expect(page.locator("#compare")).to_contain_text("No change")
    page.evaluate("editor.dispatch({changes: {from: 0, insert: '# second version\\n'}})")
    page.get_by_role("button", name="Upgrade this job").click()
    page.locator("#confirm-yes").click()
    page.wait_for_url(running)
    wait_for_state(page, "Running")
    page.goto(f"{running}/edit")
    expect(page.locator(".cm-content")).to_contain_text("# second version")


def test_job_is_stopped_restarted_and_drained(running: str, open_page: OpenPage) -> None:
    page = open_page(running)
    wait_for_state(page, "Running")
    page.get_by_role("button", name="Stop").click()
    wait_for_state(page, "Stopped")
    page.get_by_role("button", name="Restart").click()
    wait_for_state(page, "Running")
    page.get_by_role("button", name="Drain").click()
    expect(page.locator("#confirm")).to_contain_text("ends for good")
    page.locator("#confirm-yes").click()
    wait_for_state(page, "Drained")
    expect(page.get_by_role("button", name="Restart")).to_be_hidden()


def test_new_jobs_appear_and_deleted_jobs_vanish_without_a_reload(
    service_url: str, open_page: OpenPage
) -> None:
    page = open_page(service_url)
    rows = page.locator("tr[data-job]")
    before = rows.count()
    other = open_page(service_url)
    other.locator("tr[data-job] a").first.click()
    other.get_by_text("More").click()
    other.get_by_role("button", name="Clone").click()
    expect(rows).to_have_count(before + 1)
    other.wait_for_url(lambda url: "/jobs/" in url)
    wait_for_state(other, "Running")
    other.get_by_text("More").click()
    other.get_by_role("button", name="Kill").click()
    other.locator("#confirm-yes").click()
    wait_for_state(other, "Killed")
    other.get_by_text("More").click()
    other.get_by_role("button", name="Delete").click()
    other.locator("#confirm-yes").click()
    expect(rows).to_have_count(before)


def test_viewer_logs_in_and_is_refused(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_jobs(tmp_path / "service", Policy(login=True)) as (service, url):
        PrincipalStore(service.database).add_user("eve", "correct horse", Role.VIEWER)
        job = service.submit(Submission("pipeline.yaml", {"pipeline.yaml": STARTER.encode()}, owner="ana"))
        page = open_page(f"{url}/jobs/{job.id}")
        page.get_by_label("User").fill("eve")
        page.get_by_label("Password").fill("wrong horse")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("#login-error")).to_contain_text("wrong password")
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".user")).to_have_text("eve")
        page.goto(f"{url}/jobs/{job.id}")
        wait_for_state(page, "Running")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".toast").last).to_contain_text("may not change a job of ana")
        page.evaluate("delete document.querySelector('[data-readonly]').dataset.readonly")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".toast").last).to_contain_text("the role viewer does not allow it")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Password")).to_be_visible()
