"""SQL expressions that connectors share."""

from headrace.connectors.flatten import position_column


def test_source_name_with_a_quote_is_escaped_in_the_position() -> None:
    expected = r"struct('it\'s' as source, '' as partition, id as offset) as __position"
    assert position_column("it's", "''", "id") == expected
