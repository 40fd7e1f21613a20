"""Every page, in both themes and on a phone: accessibility, keyboard, roles, and a lost connection."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from headrace.dashboard.feeds.base import AlertView, ChartData, JobView
from headrace.jobs.security.principals import Principal, Role
from tests.dashboard.conftest import TIMEOUT_MS, OpenPage, serve_feed
from tests.dashboard.simulated import SimulatedFeed
from tests.support.waiting import wait_until

JOB = "/jobs/a1f3c90b77d2"
PAGES = (
    "/",
    JOB,
    f"{JOB}#step=totals",
    f"{JOB}/metrics",
    f"{JOB}/data",
    f"{JOB}/runs",
    f"{JOB}/plan",
    f"{JOB}/edit",
    f"{JOB}/edit?dead_letters=payments.dead_letters",
    "/jobs/d4410c7ae902",
    "/new",
    "/alerts",
    "/users",
    "/audit",
    f"{JOB}/edit#view=flow&entry=totals",
    "/about",
    "/new#view=flow",
    "/login",
    "/nowhere",
)
AXE = Path(__file__).parent / "axe" / "axe.min.js"
expect.set_options(timeout=TIMEOUT_MS)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_no_serious_fault(theme: str, width: int, simulated_url: str, open_page: OpenPage) -> None:
    faults = []
    for path in PAGES:
        page = open_page(simulated_url + path, theme=theme, width=width, bypass_csp=True)
        page.wait_for_load_state("load")
        if "view=flow" in path:
            page.locator(".react-flow__node, #entry .field").first.wait_for()
        page.add_script_tag(path=AXE)
        actual = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']})")
        faults += [
            (path, fault["id"], fault["nodes"][0]["html"])
            for fault in actual["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
        page.context.close()
    assert faults == []


def test_no_page_is_wider_than_a_phone(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(simulated_url, width=360)
    for path in PAGES:
        page.goto(simulated_url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_broken_job_comes_first_with_its_reason(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(simulated_url)
    first = page.locator("tr[data-job]").first
    expect(first).to_contain_text("page-views")
    expect(first).to_contain_text("DeliveryError")
    expect(page.locator("#summary")).to_contain_text("1 of 5 jobs has failed")


def test_degraded_job_shows_what_happened_since_when_and_the_next_step(
    simulated_url: str, open_page: OpenPage
) -> None:
    page = open_page(f"{simulated_url}/jobs/b27d01e4ac88")
    banner = page.locator("#banner")
    expect(banner).to_contain_text("lag above 1 M rows")
    expect(banner).to_contain_text(re.compile(r"First seen 1\d min ago"))  # 12 at the start of the tests
    expect(banner.get_by_role("link", name="how it got here")).to_be_visible()


def test_keyboard_searches_opens_help_and_goes_to_pages(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(simulated_url)
    expect(page.locator("#live")).to_have_text("● Live")
    page.keyboard.press("/")
    page.keyboard.type("stations")
    expect(page.locator("tr[data-job]")).to_have_count(1)
    page.locator("#search").blur()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Alerts")).to_be_visible()


def test_step_opens_by_keyboard_and_closes_with_escape(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(simulated_url + JOB)
    page.locator(".react-flow__node", has_text="totals").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#step")).to_contain_text("tumbling: 10 minutes")
    expect(page.locator("#step")).to_contain_text("✓ balanced")
    page.keyboard.press("Escape")
    expect(page.locator("#step")).to_be_hidden()


def test_step_shows_the_open_windows_of_a_key(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}#step=totals")
    page.get_by_label("Key", exact=True).fill("0815")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#key-state")).to_contain_text("card 0815")
    expect(page.locator("#key-state")).to_contain_text("2026-03-02T09:10:00Z")
    page.get_by_label("Key", exact=True).fill("nobody")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#key-state")).to_contain_text("unknown key `nobody`")


def test_rows_are_sampled_at_a_step_and_at_an_edge(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}#step=totals")
    page.locator("#step").get_by_role("button", name="in", exact=True).click()
    expect(page.locator("#sample")).to_contain_text("3 rows of payments")
    expect(page.locator("#sample tbody tr").first.locator("td")).to_have_text(
        ["c1", "12.5", '{"start": "09:10"}']
    )
    page.locator(".edge-label").first.click()
    expect(page.locator("#step").get_by_role("button", name="out", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator("#sample tbody tr")).to_have_count(3)


def test_plan_shows_queries_executors_and_the_physical_plan(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/plan")
    expect(page.get_by_role("heading", name="Logical plan")).to_be_visible()
    expect(page.get_by_role("row", name="driver")).to_contain_text("127.0.0.1:7077")
    expect(page.locator(".physical")).to_contain_text("StateStoreSave")


def test_charts_follow_the_time_range(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/metrics")
    expect(page.locator(".plot canvas")).to_have_count(8)
    with page.expect_response(lambda answer: "seconds=3600" in answer.url) as answer:
        page.get_by_role("button", name="1 h").click()
    assert len(answer.value.json()["columns"]["t"]) > 100


def test_metrics_recommend_an_out_of_order(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/metrics")
    expect(page.get_by_text("Recommended:")).to_contain_text("out_of_order: 20 seconds")


def test_drain_lists_the_absences_that_complete(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}")
    drain, dialog = page.get_by_role("button", name="Drain", exact=True).first, page.locator("#confirm")
    drain.click()
    expect(dialog).to_contain_text("the job ends for good")
    expect(dialog).not_to_contain_text("Absences")
    dialog.get_by_role("button", name="Cancel").click()
    page.locator("[data-absences]").evaluate("element => { element.dataset.absences = 'unconfirmed, lost'; }")
    drain.click()
    expect(dialog).to_contain_text("although their time has not elapsed: unconfirmed, lost.")
    expect(page.locator("#confirm-yes")).to_have_text("Drain")


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_of_a_job_hardly_shift_while_they_load(
    width: int, simulated_url: str, open_page: OpenPage
) -> None:
    measure = """() => new Promise(done => {
        let total = 0;
        new PerformanceObserver(list => list.getEntries().forEach(each => { if (!each.hadRecentInput) total += each.value; }))
            .observe({type: "layout-shift", buffered: true});
        requestAnimationFrame(() => requestAnimationFrame(() => done(total)));
    })"""
    for path, drawn in (
        ("", "#graph .react-flow__node"),
        ("/metrics", ".plot canvas"),
        ("/runs", "#log > div"),
        ("/edit", "#problems li"),
        ("/edit#view=flow", "#flow .react-flow__node"),
    ):
        page = open_page(f"{simulated_url}/jobs/b27d01e4ac88{path}", width=width)
        page.locator(drawn).first.wait_for()
        page.locator(".plot canvas, #log > div, #problems li").first.wait_for()
        assert page.evaluate(measure) <= 0.05, path
        page.context.close()


def test_charts_use_their_space_and_name_the_phases(simulated_url: str, open_page: OpenPage) -> None:
    """Labels of one column need no room in the other one."""
    page = open_page(f"{simulated_url}{JOB}/metrics", width=1440)
    page.locator("#chart-throughput canvas").wait_for()
    right = page.evaluate("""() => {
        const plot = document.querySelector("#chart-throughput"), over = plot.querySelector(".u-over");
        return (over.getBoundingClientRect().right - plot.getBoundingClientRect().left) / plot.clientWidth;
    }""")
    assert right > 0.86
    words = page.evaluate(
        "JSON.parse(document.getElementById('page-state').textContent).charts.find(each => each.id === 'batch').words"
    )
    assert words["addBatch"] == "process"


def test_text_of_nodes_is_not_cut_off(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}", width=1440)
    page.locator("#graph .react-flow__node .total").first.wait_for()
    cut = page.evaluate("""() => [...document.querySelectorAll("#graph .react-flow__node .step")]
        .filter(node => node.scrollHeight > node.clientHeight + 1).map(node => node.querySelector("b").textContent)""")
    assert cut == []


def test_step_has_a_chart_of_its_rates(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}#step=totals")
    expect(page.locator("#chart-step canvas")).to_be_visible()


def test_edit_shows_differences_and_the_plan_of_an_upgrade(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit")
    upgrade = page.get_by_role("button", name="Upgrade this job")
    expect(page.locator("#compare")).to_contain_text("No change")
    replace_text(page, "smallest < 1", "smallest < 2")
    expect(page.locator("#compare")).to_contain_text("✓ Compatible")
    expect(page.locator(".diff .added")).to_contain_text("smallest < 2")
    expect(upgrade).to_be_enabled()
    replace_text(page, "tumbling: 10 minutes", "tumbling: 5 minutes")
    expect(page.locator("#compare")).to_contain_text("✕ Needs a replay")
    expect(upgrade).to_be_disabled()


def replace_text(page: Page, old: str, new: str) -> None:
    """Edit the document."""
    page.evaluate(
        """([old, insert]) => {
            const from = editor.state.doc.toString().indexOf(old);
            editor.dispatch({changes: {from, to: from + old.length, insert}});
        }""",
        [old, new],
    )


def test_data_lists_sinks_with_rows_and_epochs(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/data")
    row = page.get_by_role("row", name="totals_table")
    expect(row).to_contain_text("sqlite path=fraud.db")
    expect(row.locator('[data-label="Query\'s epoch"]')).to_have_text("41")
    expect(row.locator('[data-label="Ledger\'s epoch"]')).to_have_text("40")


def test_document_is_tested_on_rows_of_the_running_job(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.get_by_text("Test on sample rows").click()
    rows = page.get_by_role("textbox", name="payments")
    expect(rows).to_have_value(re.compile('^{"card": "c1", "amount": 12.5.*\n'))
    expect(page.get_by_role("textbox", name="with_home lookup table")).to_have_value("")
    page.get_by_role("button", name="Run the test").click()
    expect(page.locator("#test-status")).to_have_text("✓ Done, nothing was written")
    result = page.locator("#test-result")
    expect(result.get_by_role("row", name="card-02")).to_contain_text("25.0")
    expect(result).to_contain_text("No row.")
    expect(result.get_by_role("heading", name="payments.dead_letters")).to_contain_text("1 row")
    expect(result).to_contain_text('got string "12,50"')


def test_problems_of_a_test_are_at_their_lines(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.get_by_text("Test on sample rows").click()
    page.get_by_role("textbox", name="payments").fill('{"id": "1"}\n{"id": "2"}')
    replace_text(page, "name: card-fraud", "name: division")
    page.get_by_role("button", name="Run the test").click()
    expect(page.locator("#test-status")).to_have_text("✕ 2 problems")
    page.get_by_role("button", name="rows of payments, line 2").click()
    selected = "[document.activeElement.selectionStart, document.activeElement.selectionEnd]"
    assert page.evaluate(selected) == [12, 23]
    page.get_by_role("button", name="Division by zero").click()
    line = "editor.state.doc.lineAt(editor.state.selection.main.head).number"
    assert page.evaluate(line) == 3


def test_rows_stay_while_the_document_changes(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.get_by_text("Test on sample rows").click()
    page.get_by_role("textbox", name="readings").fill('{"sensor": "s-1"}')
    replace_text(page, "sinks:", "  more: {from: averages, where: n > 1}\nsinks:")
    expect(page.locator("#problems")).not_to_contain_text("✕")
    replace_text(page, "mean:", "average:")
    expect(page.get_by_role("textbox", name="readings")).to_have_value('{"sensor": "s-1"}')


def test_dead_letters_are_tested_in_the_editor(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/data")
    page.get_by_role("link", name="Test in the editor").click()
    expect(page.locator("#test")).to_contain_text("3 dead letters of payments")
    expect(page.get_by_role("textbox", name="payments")).to_have_value(re.compile('"12,50"'))


def test_viewer_may_not_test(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_feed(SimulatedFeed(tmp_path), Principal("eve", Role.VIEWER)) as url:
        page = open_page(f"{url}{JOB}/data")
        expect(page.get_by_role("link", name="Download")).to_be_visible()
        expect(page.get_by_role("link", name="Test in the editor")).to_have_count(0)
        page.goto(f"{url}{JOB}/edit")
        page.get_by_text("Test on sample rows").click()
        expect(page.locator("#test-run")).to_be_disabled()


def document(page: Page) -> str:
    """Return the text of the editor."""
    text: str = page.evaluate("editor.state.doc.toString()")
    return text


def test_pipeline_is_built_in_the_flow_by_keyboard_only(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    press, form = page.keyboard.press, page.locator("#entry")
    page.get_by_role("tab", name="Document").focus()
    press("ArrowRight")
    expect(page.locator("#flow .react-flow__node")).to_have_count(3)
    page.locator("#flow summary", has_text="Templates").focus()
    press("Enter")
    press("Tab")
    press("Enter")  # empty
    expect(page.locator("#flow-empty")).to_be_visible()
    page.keyboard.type("memory")  # the search of the palette has the focus
    press("Enter")
    expect(form.get_by_label("schema")).to_be_focused()
    page.keyboard.type("card string, amount double")
    for words, field, value in (("filter", "where", "amounts > 50"), ("console", "", "")):
        press("Escape")
        press("/")
        page.keyboard.type(words)
        press("Enter")
        expect(page.locator("#entry h2")).to_contain_text(words)
        if field:
            expect(form.get_by_label(field)).to_be_focused()
            page.keyboard.type(value)
            press("Enter")
            fault = page.locator(f"#field-{field}-fault")
            expect(fault).to_contain_text("unknown column `amounts`")
            expect(form.get_by_label(field)).to_have_attribute("aria-invalid", "true")
            press("Control+a")
            page.keyboard.type("amount > 50")
            press("Enter")
            expect(fault).to_have_count(0)
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    assert document(page) == (
        "name: new-pipeline\n"
        "sources:\n  memory:\n    memory: {}\n    schema: card string, amount double\n"
        "steps:\n  filter:\n    from: memory\n    where: amount > 50\n"
        "sinks:\n  to_console:\n    from: filter\n    console: {}\n"
    )


def test_flow_and_document_show_one_text(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit#view=flow&entry=totals")
    before = document(page)
    size = page.get_by_label("size")
    size.fill("5 minutes")
    size.press("Tab")
    expect(page.locator("#compare")).to_contain_text("✕ Needs a replay")
    assert document(page) == before.replace("{tumbling: 10 minutes}", "{tumbling: 5 minutes}")
    page.get_by_label("name", exact=True).fill("sums")
    page.get_by_label("name", exact=True).press("Enter")
    expect(page.locator("#flow .react-flow__node", has_text="sums")).to_have_count(1)
    assert "from: sums" in document(page)
    page.locator("#flow .react-flow__node", has_text="sums").focus()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(page.locator("#flow .react-flow__node", has_text="sums")).to_have_count(0)
    assert document(page) == before
    page.get_by_role("tab", name="Document").click()
    replace_text(page, "\nsinks:", "\n  few: {from: totals, where: n < 3}\nsinks:")
    page.get_by_role("tab", name="Flow").click()
    expect(page.locator("#flow .react-flow__node", has_text="few")).to_be_visible()


def test_entry_is_deleted_and_a_problem_leads_to_its_field(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new#view=flow")
    page.locator("#flow .react-flow__node", has_text="averages").click()
    expect(page.locator("#entry h2")).to_have_text("averages")
    page.locator("#flow .react-flow__node", has_text="averages").press("Delete")
    expect(page.locator("#flow .react-flow__node")).to_have_count(2)
    assert "averages" not in document(page)
    page.locator("#problems button").first.click()
    expect(page.get_by_label("from")).to_be_focused()
    page.get_by_label("from").select_option("readings")
    expect(page.locator("#flow .react-flow__edge")).to_have_count(1)
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.locator("#flow .react-flow__edge").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    expect(page.locator("#flow .react-flow__edge")).to_have_count(0)


def test_columns_and_functions_are_completed_in_the_text_and_in_forms(
    simulated_url: str, open_page: OpenPage
) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit")
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    page.evaluate(
        """() => {
            const at = editor.state.doc.toString().indexOf("country <> home");
            editor.dispatch({selection: {anchor: at + 2}});
            editor.focus();
        }"""
    )
    page.keyboard.press("Control+Space")
    options = page.locator(".cm-tooltip-autocomplete")
    expect(options).to_contain_text("country")
    expect(options).to_contain_text("coalesce(")
    page = open_page(f"{simulated_url}{JOB}/edit#view=flow&entry=totals")
    words = page.locator("#words option")
    expect(words.first).to_have_attribute("value", "id")
    expect(page.locator('#words option[value="sum("]')).to_have_count(1)
    expect(page.get_by_label("Value 1 of aggregate")).to_have_attribute("list", "words")


class HeldAnswers:
    """Holds the requests of the flow editor until they are released, in any order with what the user does."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._held: dict[str, list[Route]] = {"edit": [], "form": []}
        self._holds = True
        page.route(re.compile("/ui/flow/(edit|form)"), self._hold)

    def _hold(self, route: Route) -> None:
        if self._holds:
            self._held["edit" if "/edit" in route.request.url else "form"].append(route)
        else:
            route.continue_()

    def release(self, kind: str) -> None:
        """Let the oldest request of a kind through; wait until the page has its answer."""
        wait_until(lambda: self._page.evaluate("true") and bool(self._held[kind]))  # the call lets routes run
        with self._page.expect_response(re.compile(f"/ui/flow/{kind}")) as answer:
            self._held[kind].pop(0).continue_()
        answer.value.finished()
        self._page.evaluate("() => new Promise(requestAnimationFrame)")

    def release_all(self) -> None:
        """Let these and all later requests through."""
        self._holds = False
        for route in [*self._held["edit"], *self._held["form"]]:
            route.continue_()


def open_entry(page: Page, entry: str, text: str) -> Locator:
    """Write a document; return the form of an entry."""
    expect(page.locator("#checked")).to_have_text("✓ Valid")
    replace = "text => editor.dispatch({changes: {from: 0, to: editor.state.doc.length, insert: text}})"
    page.evaluate(replace, text)
    page.get_by_role("tab", name="Flow").click()
    page.locator(f"#flow .react-flow__node[data-id={entry}]").click()
    form = page.locator("#entry")
    expect(form.locator("h2")).to_have_text(entry)
    return form


READINGS = (
    "name: p\nsources:\n  tx:\n    memory: {}\n    schema: k string, value double, ts timestamp\n"
    "    event_time: {column: ts}\nsteps:\n"
)
PATTERN = READINGS + (
    "  m:\n    from: tx\n    key_by: k\n    match:\n      within: 1 minute\n"
    "      steps: [low: value < 1, {high: {followed_by: value > 9, times: 2}}]\n"
)


def test_pattern_has_a_form(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    form = open_entry(page, "m", PATTERN)
    expect(form.get_by_label("Condition of step 2")).to_have_value("value > 9")
    expect(form.get_by_label("Contiguity of step 2")).to_have_value("followed_by")
    expect(form.get_by_label("Repeats of step 2")).to_have_value("2")
    form.get_by_label("Contiguity of step 2").select_option("next")
    form.get_by_label("Name of step 3").fill("calm")
    form.get_by_label("Contiguity of step 3").select_option("not_followed_by")
    form.get_by_label("Condition of step 3").fill("value = 5")
    form.get_by_label("Condition of step 3").press("Enter")
    expect(form.get_by_label("Name of step 4")).to_be_visible()  # an empty one follows
    wait_until(lambda: "calm: {not_followed_by: value = 5}" in document(page))
    assert "low: value < 1" in document(page)
    assert "high: {next: value > 9, times: 2}" in document(page)


def test_changes_of_a_pattern_outlive_older_answers(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    form = open_entry(page, "m", PATTERN)
    answers = HeldAnswers(page)
    form.get_by_label("Contiguity of step 2").select_option("next")
    form.get_by_label("Name of step 3").fill("calm")
    answers.release("edit")
    form.get_by_label("Contiguity of step 3").select_option("not_followed_by")
    answers.release("form")  # of a document without step 3
    expect(form.get_by_label("Name of step 3")).to_have_value("calm")
    expect(form.get_by_label("Contiguity of step 3")).to_have_value("not_followed_by")
    condition = form.get_by_label("Condition of step 3")
    condition.press_sequentially("value = 5")
    form.get_by_label("Repeats of step 2").fill("3")  # sends step 3, then the repeats
    form.get_by_label("Condition of step 1").fill("value < 2")
    answers.release("edit")
    answers.release("form")  # of a document without the repeats
    expect(form.get_by_label("Condition of step 1")).to_be_focused()
    expect(form.get_by_label("Condition of step 1")).to_have_value("value < 2")
    expect(form.get_by_label("Repeats of step 2")).to_have_value("3")
    form.get_by_label("Condition of step 1").press("Enter")
    answers.release_all()
    expect(form.get_by_label("Name of step 4")).to_be_visible()
    wait_until(lambda: "low: value < 2" in document(page))
    assert "high: {next: value > 9, times: 3}" in document(page)
    assert "calm: {not_followed_by: value = 5}" in document(page)


def test_changes_after_a_new_name_reach_the_renamed_entry(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    totals = "  sums:\n    from: tx\n    key_by: k\n    window: {tumbling: 1 minute}\n    aggregate: {n: count()}\n"
    form = open_entry(page, "sums", READINGS + totals)
    answers = HeldAnswers(page)
    form.get_by_label("name", exact=True).fill("totals")
    form.get_by_label("size").fill("5 minutes")
    form.get_by_label("Name 2 of aggregate").fill("most")
    form.get_by_label("Value 2 of aggregate").fill("max(value)")
    answers.release("edit")  # the name
    answers.release("edit")  # the size
    form.get_by_label("Value 1 of aggregate").fill("count(k)")
    answers.release("form")  # of the name: a newer one was requested since
    answers.release("form")
    expect(form.locator("h2")).to_have_text("totals")
    expect(form.get_by_label("Value 1 of aggregate")).to_have_value("count(k)")
    expect(form.get_by_label("Value 2 of aggregate")).to_have_value("max(value)")
    form.get_by_label("Value 1 of aggregate").press("Enter")
    answers.release_all()
    wait_until(lambda: "count(k)" in document(page))
    expect(form.get_by_label("Name 3 of aggregate")).to_be_visible()
    text = document(page)
    assert "totals:" in text
    assert "sums" not in text
    assert "{tumbling: 5 minutes}" in text
    assert "most: max(value)" in text


def test_submission_has_the_last_change_of_a_form(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/new")
    form = open_entry(page, "m", PATTERN + "sinks:\n  out: {from: m, console: {}}\n")
    expect(page.locator("#submit")).to_be_enabled()
    answers = HeldAnswers(page)
    form.get_by_label("Condition of step 1").fill("value < 2")
    submitted: list[str] = []

    def submit(route: Route) -> None:
        submitted.append(json.loads(route.request.post_data or "")["document"])
        route.abort()

    page.route(re.compile("/api/v1/jobs$"), submit)
    page.locator("#submit").click()
    answers.release_all()
    wait_until(lambda: page.evaluate("true") and len(submitted) == 1)
    assert "value < 2" in submitted[0]


def test_nodes_are_moved_and_keep_their_place(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/edit#view=flow")
    node = page.locator("#flow .react-flow__node[data-id=abroad]")
    arrange = page.get_by_role("button", name="Arrange")
    expect(arrange).to_be_disabled()
    place = "element => element.style.transform"
    before = node.evaluate(place)
    box = node.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 90, steps=4)
    page.mouse.up()
    expect(arrange).to_be_enabled()
    moved = node.evaluate(place)
    assert moved != before
    page.reload()
    expect(node).to_be_visible()
    assert node.evaluate(place) == moved
    arrange.click()
    expect(arrange).to_be_disabled()
    page.wait_for_function(
        "before => document.querySelector('.react-flow__node[data-id=abroad]').style.transform === before",
        arg=before,
    )


def test_viewer_may_not_edit_the_flow(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_feed(SimulatedFeed(tmp_path), Principal("eve", Role.VIEWER)) as url:
        page = open_page(f"{url}{JOB}/edit#view=flow")
        expect(page.get_by_role("tab", name="Flow")).to_be_disabled()
        expect(page.locator("#editor")).to_be_visible()


def test_nodes_show_connector_totals_load_and_skew_and_edges_their_columns(
    simulated_url: str, open_page: OpenPage
) -> None:
    page = open_page(f"{simulated_url}/jobs/b27d01e4ac88")
    source = page.locator(".react-flow__node[data-id=readings]")
    expect(source).to_contain_text("files · events.jsonl")
    expect(source).to_contain_text("skew 2.3 x")
    step = page.locator(".react-flow__node[data-id=hourly]")
    expect(step.locator(".step")).to_have_class(re.compile("load-backpressure"))
    expect(step).to_contain_text("▲ backpressure 97 %")
    expect(step.locator(".total")).to_have_text(re.compile(r"^[\d.]+ M → [\d.]+ M rows$"))
    expect(page.locator(".edge-label").first).to_have_attribute("title", re.compile(r"station|sensor|ts "))
    source.click()
    panel = page.locator("#step")
    panel.get_by_text("4 partitions, skew 2.3 x").click()
    expect(panel.get_by_role("row", name="alarms-3")).to_contain_text("244 k")
    panel.get_by_text(re.compile(r"^\d+ columns$")).click()
    expect(panel.locator("code").first).to_be_visible()


def test_last_rows_of_each_sink_are_shown(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/data")
    rows = page.locator("#last-rows")
    expect(rows).to_contain_text("The last rows of used_abroad")
    page.locator(".last-rows").get_by_role("button", name="totals_table").click()
    expect(rows).to_contain_text("The last rows of totals_table")
    expect(rows.locator("tbody tr")).to_have_count(3)


def test_log_is_filtered_by_level_step_and_epoch(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/runs")
    records = page.locator("#log > div")
    expect(records).to_have_count(80)
    page.get_by_label("Level").select_option("WARN")
    expect(records).to_have_count(2)
    expect(records.first).to_have_text(re.compile("19:14:02WARN.*41 s behind"))
    page.get_by_label("Level").select_option("")
    page.get_by_label("Epoch").fill("12")
    expect(records).to_have_count(1)
    page.get_by_label("Log of the driver or of Spark").select_option("spark")
    expect(page.locator("#log")).to_contain_text("No record matches")


def test_events_show_who_did_what(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}{JOB}/runs")
    events = page.locator("#events li")
    expect(events.nth(2)).to_contain_text("upgrade requested ana")
    expect(events.last).to_contain_text("submitted ana")


def test_alerts_list_their_rules(simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/alerts")
    expect(page.get_by_role("row", name="the job has failed")).to_contain_text("all")


def test_users_are_listed_for_admins_only(tmp_path: Path, simulated_url: str, open_page: OpenPage) -> None:
    page = open_page(f"{simulated_url}/users")
    expect(page.get_by_role("row", name="ana admin")).to_be_visible()
    with serve_feed(SimulatedFeed(tmp_path), Principal("eve", Role.VIEWER)) as url:
        page.goto(f"{url}/users")
        expect(page.locator(".empty")).to_contain_text("may not list users")


def test_viewer_is_refused(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_feed(SimulatedFeed(tmp_path), Principal("eve", Role.VIEWER)) as url:
        page = open_page(url + JOB)
        expect(page.locator(".user")).to_have_text("eve")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".toast")).to_contain_text("Refused")
        page.goto(f"{url}/new")
        expect(page.locator("#submit")).to_be_disabled()


def test_page_turns_grey_when_the_connection_is_lost(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_feed(SimulatedFeed(tmp_path)) as url:
        page = open_page(url)
        expect(page.locator("#live")).to_have_text("● Live")
    expect(page.locator("#live")).to_contain_text("No data for")
    assert "lost" in (page.locator("body").get_attribute("class") or "")


@pytest.mark.parametrize(("path", "title"), [("/jobs/none", "No such job"), ("/nowhere", "No such page")])
def test_unknown_address_shows_the_way_back(
    path: str, title: str, simulated_url: str, open_page: OpenPage
) -> None:
    page = open_page(simulated_url + path)
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    page.get_by_role("link", name="All jobs").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert page.request.get(simulated_url + path).json()  # a program gets JSON


def test_alert_appears_without_a_reload(tmp_path: Path, open_page: OpenPage) -> None:
    class Quiet(SimulatedFeed):
        firing = False

        def alerts(self) -> Sequence[AlertView]:
            return super().alerts() if self.firing else []

    feed = Quiet(tmp_path)
    with serve_feed(feed) as url:
        page = open_page(f"{url}/alerts")
        expect(page.locator(".title")).to_contain_text("None is firing")
        feed.firing = True
        expect(page.locator(".title")).to_contain_text("2 firing")
        expect(page.get_by_role("row", name="base-stations").first).to_contain_text("lag above 1 M rows")


def test_text_of_a_firing_alert_stays_current(tmp_path: Path, open_page: OpenPage) -> None:
    class Lagging(SimulatedFeed):
        lag = "1,200,000"

        def job(self, job: str) -> JobView | None:
            view = super().job(job)
            return view and replace(view, warning=f"{self.lag} records are not read")

        def jobs(self) -> Sequence[JobView]:
            return [view for name in self.names if (view := self.job(name)) is not None]

    feed = Lagging(tmp_path)
    with serve_feed(feed) as url:
        pages = [(open_page(url), "tr small.reason.warn"), (open_page(url + JOB), "#banner strong")]
        for page, place in pages:
            expect(page.locator(place).first).to_have_text("1,200,000 records are not read")
        feed.lag = "1,300,000"
        for page, place in pages:
            expect(page.locator(place).first).to_have_text("1,300,000 records are not read")


def test_relative_times_stay_current(tmp_path: Path, open_page: OpenPage) -> None:
    feed = SimulatedFeed(tmp_path)
    feed.started = time.time()
    with serve_feed(feed) as url:
        page = open_page(url + JOB)
        submitted = page.locator("#facts time")
        before = submitted.inner_text()
        expect(submitted).not_to_have_text(before)
        expect(submitted).to_contain_text("ago")


def test_job_without_measurements_has_one_line_in_place_of_charts(
    tmp_path: Path, open_page: OpenPage
) -> None:
    class Unmeasured(SimulatedFeed):
        def history(self, job: str, seconds: float) -> ChartData:
            return ChartData({"t": []})

    with serve_feed(Unmeasured(tmp_path)) as url:
        page = open_page(f"{url}{JOB}/metrics")
        expect(page.locator("#unmeasured")).to_have_text("No measurements in this time range")
        expect(page.locator("figure:visible")).to_have_count(0)


def test_charts_without_values_are_named_in_one_line(tmp_path: Path, open_page: OpenPage) -> None:
    class WithoutLag(SimulatedFeed):
        def history(self, job: str, seconds: float) -> ChartData:
            whole = super().history(job, seconds)
            return ChartData({name: column for name, column in whole.columns.items() if "lag" not in name})

    with serve_feed(WithoutLag(tmp_path)) as url:
        page = open_page(f"{url}{JOB}/metrics")
        expect(page.locator(".plot canvas")).to_have_count(7)
        expect(page.locator("#unmeasured")).to_contain_text("lag per partition")
        page.goto(url + JOB)  # batch durations take the place of the lag
        expect(page.get_by_text("Batch duration")).to_be_visible()
        expect(page.locator("#unmeasured")).to_be_hidden()


def test_empty_service_shows_the_next_step(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_feed(SimulatedFeed(tmp_path, {})) as url:
        page = open_page(url)
        expect(page.locator(".empty")).to_contain_text("headrace jobs submit pipeline.yaml")
        expect(page.get_by_role("link", name="Write the first job")).to_be_visible()
