"""Every statement that a `sql` step cannot run right is refused by `check`, with what to write instead."""

from __future__ import annotations

import re

import pytest
from tests.support.sql_statements import Shop, Statement, statements

from headrace import connect
from headrace.errors import HeadraceError

STEP = re.compile(
    r"\b(aggregate|distinct|event_time|explain|join|key_by|latest|lateral view|lookup|processing_time|read"
    r"|select|sql step|stateful_map|top_n|where|window|write|sink|CREATE TABLE|GROUP BY|OVER)\b"
)


def check(shop: Shop, statement: Statement) -> None:
    shop.pipeline.sql("q", statement.sql).write("out", connect.memory())
    shop.pipeline.check()


@pytest.mark.parametrize("statement", statements(), ids=lambda each: each.name)
def test_a_statement_runs_or_is_refused_with_the_steps_to_use(statement: Statement) -> None:
    shop = Shop()
    if not statement.refused:
        check(shop, statement)
        return
    with pytest.raises(HeadraceError) as caught:
        check(shop, statement)
    message = str(caught.value)
    assert re.search(rf"`q`(:\d+:\d+)?: {re.escape(statement.refused)}", message)
    hint = message.partition("hint: ")[2]
    assert STEP.search(hint), message
