"""The division of plans into queries."""

from __future__ import annotations

from headrace import Pipeline, SourceStream, connect, windows
from headrace.connectors.base import Connector
from headrace.plan.queries import Query, queries_of
from headrace.steps.base import Ref


class Fleeting(Connector):
    """A source whose records are gone once read."""

    kind = "fleeting"
    roles = frozenset({"source"})


SCHEMA = "card string, amount double, ts timestamp"


def files(name: str) -> connect.files:
    return connect.files(path=f"out/{name}", format="json")


def payments(pipeline: Pipeline, connector: object = None) -> SourceStream:
    return pipeline.read("tx", connector or connect.files(path="in"), format="json", schema=SCHEMA)  # type: ignore[arg-type]


def divide(pipeline: Pipeline) -> dict[str, Query]:
    return {query.name: query for query in queries_of(pipeline._plan())}


def totals(stream: SourceStream, name: str = "totals"):  # type: ignore[no-untyped-def]
    timed = stream.event_time("ts").key_by("card")
    return timed.window(windows.tumbling("1 minute")).aggregate(name, n="count(*)")


def test_a_stateless_pipeline_with_one_sink_is_one_query_up_to_the_sink() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema=SCHEMA).where("amount > 5").write("big", files("big"))
    assert divide(pipeline) == {
        "tx": Query("tx", Ref("tx:where"), ("big",), ("tx",), primary_reader_of=("tx",))
    }


def test_a_sink_of_dead_letters_beside_it_is_no_reason_to_end_the_query_earlier() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    tx.where("amount > 5").write("big", files("big"))
    tx.dead_letters.write("bad", files("bad"))
    (query,) = divide(pipeline).values()
    assert (query.output, query.sinks, query.dead_letters_of) == (Ref("tx:where"), ("big", "bad"), ("tx",))


def test_several_stateless_sinks_of_one_source_share_its_query() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    tx.where("amount > 5").write("big", files("big"))
    tx.where("amount <= 5").write("small", files("small"))
    (query,) = divide(pipeline).values()
    assert (query.output, query.sinks) == (Ref("tx"), ("big", "small"))


def test_a_stateful_step_is_in_one_query_with_any_consumers() -> None:
    pipeline = Pipeline("p")
    panes = totals(payments(pipeline))
    panes.write("all", files("all"))
    panes.where("n > 3").write("many", files("many"))
    panes.late.write("late", files("late"))
    (query,) = divide(pipeline).values()
    assert (query.name, query.output, query.sinks) == ("totals", Ref("totals"), ("all", "many", "late"))


def test_two_stateful_steps_read_a_replayable_source_each_for_itself() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    totals(tx, "a").write("a_out", files("a"))
    totals(tx, "b").write("b_out", files("b"))
    queries = divide(pipeline)
    assert [query.sources for query in queries.values()] == [("tx",), ("tx",)]
    assert not any(query.writes for query in queries.values())


def test_only_the_first_reader_of_a_source_delivers_its_dead_letters() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    totals(tx, "a").write("a_out", files("a"))
    totals(tx, "b").write("b_out", files("b"))
    tx.dead_letters.write("broken", files("broken"))
    queries = divide(pipeline)
    assert (queries["a"].dead_letters_of, queries["a"].sinks) == (("tx",), ("a_out", "broken"))
    assert queries["a"].primary_reader_of == ("tx",)
    assert queries["b"].dead_letters_of == queries["b"].primary_reader_of == ()


def test_dead_letters_alone_still_read_their_source() -> None:
    pipeline = Pipeline("p")
    payments(pipeline).dead_letters.write("broken", files("broken"))
    query = Query("tx", Ref("tx"), ("broken",), ("tx",), dead_letters_of=("tx",), primary_reader_of=("tx",))
    assert divide(pipeline) == {"tx": query}


def test_a_stateful_step_after_another_reads_a_hand_over_log() -> None:
    pipeline = Pipeline("p")
    hourly = totals(payments(pipeline)).window(windows.tumbling("1 hour")).aggregate("hourly", n="sum(n)")
    hourly.write("out", files("out"))
    queries = divide(pipeline)
    assert list(queries) == ["totals", "hourly"]
    assert queries["totals"].writes == (Ref("totals"),)
    assert (queries["hourly"].reads, queries["hourly"].sources) == ((Ref("totals"),), ())


def test_a_source_that_cannot_be_replayed_is_read_once_into_a_log() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline, Fleeting())
    totals(tx, "a").write("a_out", files("a"))
    totals(tx, "b").write("b_out", files("b"))
    queries = divide(pipeline)
    assert list(queries) == ["tx", "a", "b"]
    assert queries["tx"].writes == (Ref("tx"),)
    assert all(queries[name].reads == (Ref("tx"),) and not queries[name].sources for name in "ab")


def test_a_union_of_two_stateful_steps_is_a_query_of_its_own_behind_their_logs() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    totals(tx, "a").union(totals(tx, "b")).write("both", files("both"))
    queries = divide(pipeline)
    assert list(queries) == ["a", "b", "both"]
    assert queries["both"].reads == (Ref("a"), Ref("b"))


def test_a_stateful_step_on_dead_letters_reads_them_from_their_log() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    tx.dead_letters.key_by("reason").aggregate("reasons", n="count(*)").write("out", files("out"))
    queries = divide(pipeline)
    assert queries["reasons"].reads == (Ref("tx", "dead_letters"),)
    assert queries["tx"].writes == (Ref("tx", "dead_letters"),)


def test_what_no_sink_depends_on_is_not_run() -> None:
    pipeline = Pipeline("p")
    tx = payments(pipeline)
    totals(tx)
    tx.write("out", files("out"))
    assert list(divide(pipeline)) == ["tx"]
