"""The catalogue of the shell: declarations, errors with places, scripts."""

from __future__ import annotations

import pytest

from headrace.cli.shell.session import Session, is_complete
from headrace.errors import DocumentError, HeadraceError, OptionError
from headrace.plan.graph import Graph

SOURCE = """CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'memory');"""
VIEW = "CREATE VIEW counts AS SELECT auction, count(*) AS n FROM bid GROUP BY auction;"
SINK = "CREATE SINK out (auction BIGINT, n BIGINT, PRIMARY KEY (auction)) WITH (connector = 'memory', name = 'o');"


def apply(session: Session, text: str, file: str = "") -> list[Graph | None]:
    entered = session.enter(text, file)
    session.check(entered)
    return [session.apply(each) for each in entered]


def error_of(session: Session, text: str, file: str = "") -> list[str]:
    with pytest.raises(HeadraceError) as caught:
        apply(session, text, file)
    return [f"{each.where}: {each.what}" for each in caught.value.problems]


@pytest.fixture
def session() -> Session:
    session = Session()
    apply(session, SOURCE)
    apply(session, VIEW)
    return session


def test_query_reads_what_was_declared(session: Session) -> None:
    [graph] = apply(session, "SELECT n FROM counts;")
    assert graph is not None
    assert [sink.connector.kind for sink in graph.sinks] == ["console"]
    assert "counts" in graph.nodes


def test_declarations_alone_have_no_plan_to_run(session: Session) -> None:
    assert apply(session, SINK) == [None]


def test_insert_writes_to_its_sink_alone(session: Session) -> None:
    apply(session, SINK)
    apply(session, SINK.replace("out", "other").replace("'o'", "'p'"))
    [graph] = apply(session, "INSERT INTO out SELECT auction, n FROM counts;")
    assert graph is not None
    assert [sink.name for sink in graph.sinks] == ["out"]


def test_error_has_its_place_in_the_input(session: Session) -> None:
    assert error_of(session, "SELECT\n  nothing FROM counts;") == ["2:3: unknown column `nothing`"]


def test_error_in_a_file_has_its_place_in_the_file() -> None:
    text = f"{SOURCE}\nSELECT auction, nothing FROM bid;"
    assert error_of(Session(), text, "shop.sql") == ["shop.sql:3:17: unknown column `nothing`"]


def test_all_errors_of_an_input_are_reported(session: Session) -> None:
    errors = error_of(session, "CREATE VIEW a AS SELECT x FROM bid; SELECT * FROM a; SELECT y FROM bid;")
    assert errors == ["1:25: unknown column `x`", "1:61: unknown column `y`"]


def test_nothing_of_an_input_with_an_error_is_declared(session: Session) -> None:
    error_of(session, "CREATE VIEW a AS SELECT auction FROM bid; SELECT y FROM bid;")
    assert session.find("a") is None


def test_options_of_a_sink_are_checked_when_it_is_declared(session: Session) -> None:
    errors = error_of(session, "CREATE SINK s WITH (connector = 'sqlite', path = 's.db', tabel = 't');")
    assert any("tabel" in each and each.startswith("1:") for each in errors)


def test_duplicate_name_is_refused(session: Session) -> None:
    [error] = error_of(session, "CREATE VIEW bid AS SELECT * FROM counts;")
    assert "duplicate name `bid`" in error


def test_view_is_replaced(session: Session) -> None:
    apply(
        session,
        "CREATE OR REPLACE VIEW counts AS SELECT auction, sum(price) AS total FROM bid GROUP BY auction;",
    )
    assert error_of(session, "SELECT n FROM counts;")
    assert apply(session, "SELECT total FROM counts;")


def test_declaration_that_is_read_is_neither_dropped_nor_replaced(session: Session) -> None:
    with pytest.raises(DocumentError, match="`bid` is used"):
        apply(session, "DROP SOURCE bid;")
    [error] = error_of(session, SOURCE.replace("CREATE", "CREATE OR REPLACE").replace("auction", "lot"))
    assert "`bid` is used" in error
    assert apply(session, "SELECT auction FROM bid;")


def test_dropped_view_is_gone(session: Session) -> None:
    apply(session, "DROP VIEW counts;")
    [error] = error_of(session, "SELECT * FROM counts;")
    assert "counts" in error
    with pytest.raises(DocumentError, match="unknown view `counts`"):
        apply(session, "DROP VIEW counts;")


def test_setting_is_changed_and_an_unknown_one_is_refused(session: Session) -> None:
    apply(session, "SET 'until' = 'drained'; SET 'name' = 'shop';")
    assert (session.settings.until, session.settings.name) == ("drained", "shop")
    assert error_of(session, "SET 'utnil' = 'drained';") == ["SET: unknown setting `utnil`"]
    [error] = error_of(session, "SET 'until' = 'later';")
    assert error.startswith("until: expected auto, drained")


def test_script_has_the_declarations_and_the_statement(session: Session) -> None:
    apply(session, SINK)
    apply(session, SINK.replace("out", "unused").replace("'o'", "'p'"))
    [insert] = session.enter("INSERT INTO out SELECT auction, n FROM counts;")
    script = session.script(insert)
    assert [line.split(" (")[0].split(" AS")[0] for line in script.splitlines() if line[0] != " "] == [
        "CREATE SOURCE bid",
        "CREATE VIEW counts",
        "CREATE SINK out",
        "INSERT INTO out SELECT auction, n FROM counts;",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SHOW VEIWS;", "1:6: expected SOURCES, TABLES, VIEWS, SINKS, FUNCTIONS, got `VEIWS`"),
        ("DROP bid;", "1:6: expected SOURCE, TABLE, VIEW, SINK or FUNCTION, got `BID`"),
        ("EXPLAIN;", "1:1: expected a query, got the end of the statement"),
        ("DESCRIBE bid counts;", "1:14: expected the end of the statement, got `counts`"),
        ("DELETE FROM bid;", "1:1: expected a statement, got `DELETE`"),
        ("SELECT 'a FROM bid;", "1:8: this quote is not closed"),
    ],
)
def test_statement_with_wrong_syntax_is_refused(session: Session, text: str, error: str) -> None:
    assert error_of(session, text) == [error]


def test_unknown_name_is_not_described(session: Session) -> None:
    with pytest.raises(OptionError, match="unknown name `bids`"):
        session.relation("bids")


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- ;", False),
        ("\\help", True),
        ("", True),
    ],
)
def test_input_is_complete_with_a_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
