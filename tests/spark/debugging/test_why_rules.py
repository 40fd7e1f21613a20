"""Why rules of a table have (not) matched for a key: by id and version, also after a change of the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.cli.terminal.render_why import lines_of
from headrace.cli.terminal.rule_lines import lines_of as listing_lines
from headrace.debugging.why import Why, why_of
from headrace.errors import OptionError
from headrace.explain.text import text_of
from headrace.rules.listing import TableListing, list_rule_tables

PAIR = (
    "{{steps: [{{small: amount < {small}}}, {{large: {{followed_by: amount > {large}}}}}], within: 1 minute}}"
)


class Job:
    """Payments of files, one for each run, and a file of rules that changes between two of them."""

    def __init__(self, work: Path) -> None:
        self.work = work
        (work / "in").mkdir()
        self.pipeline = Pipeline("job")
        source = connect.files(path=str(work / "in"))
        schema = "card string, amount double, ts timestamp"
        tx = self.pipeline.read("tx", source, format="json", schema=schema)
        timed = tx.event_time("ts", out_of_order="10 seconds")
        alerts = timed.key_by(number="card").match_rules("alerts", rules=work / "rules.yaml")
        alerts.write("out", connect.memory())

    def rules(self, **rules: str) -> None:
        (self.work / "rules.new").write_text("".join(f"{name}: {rule}\n" for name, rule in rules.items()))
        (self.work / "rules.new").replace(self.work / "rules.yaml")

    def run(self, number: int, *payments: tuple[str, float, int]) -> None:
        lines = [
            json.dumps({"card": card, "amount": amount, "ts": f"2026-03-02T09:00:{second:02}Z"})
            for card, amount, second in payments
        ]
        (self.work / "in" / f"{number}.json").write_text("\n".join(lines))
        self.pipeline.run(until="caught_up", checkpoint=self.work / "checkpoint")

    def why(self, key: str = "a", **asked: str) -> Why:
        [actual] = why_of(self.pipeline._plan(), self.work / "checkpoint", key=[key], **asked)  # type: ignore[arg-type]
        return actual

    def listed(self) -> TableListing:
        [actual] = list_rule_tables(self.pipeline._plan(), self.work / "checkpoint")
        return actual


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Two runs: between them `tightened` changes, `gone` goes, `new` comes."""
    made = Job(tmp_path_factory.mktemp("rules"))
    steady = PAIR.format(small=1, large=500)
    made.rules(steady=steady, tightened=PAIR.format(small=1, large=100), gone=steady)
    made.run(0, ("a", 0.5, 1), ("a", 20, 5), ("b", 3, 15))
    made.rules(steady=steady, tightened=PAIR.format(small=1, large=300), new=PAIR.format(small=30, large=90))
    made.run(1, ("a", 0.7, 20), ("a", 80, 30), ("b", 3, 41), ("a", 700, 45), ("a", 60, 46))
    return made


def test_each_rule_reports_its_partial_matches_by_id_and_version(job: Job) -> None:
    why = job.why()
    assert [(item.rule, item.version) for item in why.rules] == [("steady", 1), ("tightened", 2), ("new", 1)]
    steady, tightened, new = (item.report for item in why.rules)
    assert [item["start"][14:19] for item in steady.partials] == ["00:01", "00:20"]
    assert steady.partials[0]["waits_for"] == [{"step": "large", "condition": "amount > 500"}]
    assert [item["start"][14:19] for item in tightened.partials] == ["00:20"], "the first began before it"
    assert [row["row"]["amount"] for row in new.partials[0]["rows"]] == [0.7]
    assert steady.notes == tightened.notes == new.notes == ()
    assert why.notes == ()
    assert why.faults == ()


def test_a_later_rule_reports_the_rows_it_has_seen(job: Job) -> None:
    why = job.why(rule="tightened")
    [tightened] = why.rules
    assert tightened.since == 2
    assert [row["row"]["amount"] for row in tightened.report.rows] == [0.7, 80]
    [waiting] = tightened.report.waiting
    assert (waiting["row"]["amount"], waiting["results"][0]["kind"]) == (700, "match")
    assert "rule" not in waiting["results"][0]["values"]
    assert text_of(lines_of(why)).splitlines()[:4] == [
        "alerts  match_rules  number=a  epoch 3, watermark 2026-03-02T09:00:36Z",
        f"  1 rule of {job.work}/rules.yaml",
        "  tightened  version 2, since epoch 2",
        "    1 partial match",
    ]
    assert "          false  large: amount > 300  (amount=80.0)" in text_of(lines_of(why))


def test_rules_that_a_key_has_nothing_to_do_with_are_reported_briefly(job: Job) -> None:
    message = text_of(lines_of(job.why("b"), whole=False))
    steady = message[message.index("  steady") : message.index("  tightened")]
    assert steady.splitlines() == [
        "  steady  version 1",
        "    no partial match; the last row began none. The last one:",
        "      2026-03-02T09:00:15Z  number=b, amount=3.0, ts=2026-03-02T09:00:15Z".replace(
            "number=b", "card=b"
        ),
        "        new match: begins nothing",
        "          false  small: amount < 1  (amount=3.0)",
    ]
    assert job.why("b").as_json()["rules"][0]["rows"][0]["attempts"][0]["outcome"] == "begins nothing"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "stedy",
            r"--rule: unknown rule `stedy`\n  hint: did you mean `steady`\? Known: new, steady, t",
        ),
        ("gone", r"--rule: `gone` is retired; its last version is 1\n  hint: in force are: new, steady, ti"),
    ],
)
def test_a_rule_that_is_not_in_force_is_reported(job: Job, rule: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        job.why(rule=rule)


def test_a_table_that_has_changed_since_or_is_away_is_reported(job: Job) -> None:
    before = (job.work / "rules.yaml").read_text()
    try:
        (job.work / "rules.yaml").write_text(
            f"{before.replace('> 300', '> 400').replace('new: {', 'new: {active: false, ')}fresh: {PAIR.format(small=1, large=2)}\n"
        )
        assert job.why(rule="new").notes == ("the table has changed; the next micro-batch reads it",)
        with pytest.raises(
            OptionError, match="`fresh` is in the table of `alerts`, but no micro-batch has loaded it"
        ):
            job.why(rule="fresh")
        standing = {rule.id: (rule.standing, rule.version, rule.since) for rule in job.listed().rules}
        assert standing["fresh"] == ("next batch", 1, None)
        assert (standing["steady"], standing["new"]) == (("in force", 1, 0), ("retired", 1, 2))
        message = text_of(listing_lines(job.listed(), width=150))
        assert (
            "tightened  version 3, from the next batch on; until then 2  small, followed by large" in message
        )
        (job.work / "rules.yaml").unlink()
        assert "cannot read the table" in job.why(rule="new").notes[0]
        assert "No such file" in job.listed().faults[0].what
        assert [rule.id for rule in job.listed().rules] == ["steady", "tightened", "new"]
    finally:
        job.rules()
        (job.work / "rules.yaml").write_text(before)


def test_a_rule_that_spark_refused_is_reported_with_its_fault(job: Job) -> None:
    """The last test: the table it leaves behind is wrong."""
    before = (job.work / "rules.yaml").read_text()
    with job.pipeline.start(checkpoint=job.work / "checkpoint") as running:
        (job.work / "rules.new").write_text(
            f"{before}odd: {{steps: [{{a: amonut < 1}}], within: 1 minute}}\n"
        )
        (job.work / "rules.new").replace(job.work / "rules.yaml")
        whole = (
            job.work / "2.json"
        )  # Spark may list the directory at any time, and takes a file as it is then
        whole.write_text('{"card": "c", "amount": 9, "ts": "2026-03-02T09:00:50Z"}')
        whole.rename(job.work / "in" / "2.json")
        while not (running.status().rows_in and running.status().rules["alerts"].faults):
            assert not running.wait(0.1)
    message = r"rules.yaml:4:1: rule `odd`: `odd` is not in force: the condition of `a`: unknown column `amonut`\n  hint: did you mean"
    with pytest.raises(OptionError, match=message):
        job.why(rule="odd")
    assert "wrong: " in text_of(lines_of(job.why()))
    [odd] = [rule for rule in job.listed().rules if rule.id == "odd"]
    assert (odd.standing, odd.version) == ("wrong", None)
    assert "amonut" in odd.faults[0].what
