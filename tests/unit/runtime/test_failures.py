"""Errors of Spark queries are translated with the step of the expression that failed."""

from __future__ import annotations

from pathlib import Path

from tests.support.checkpoints import write_epochs

from headrace import Pipeline, connect
from headrace.errors import DamagedFileError
from headrace.runtime.failures import find_damage, translate_error

CAST = """[CAST_INVALID_INPUT] The value 'a' of the type "STRING" cannot be cast to "INT" because it is \
malformed. Use `try_cast` to tolerate malformed input and return NULL instead. SQLSTATE: 22018
== SQL (line 1, position 1) ==
cast(card as int) + 1
^^^^^^^^^^^^^^^^^

\tat org.apache.spark.sql.errors.QueryExecutionErrors$.invalidInputInCastToNumberError(QueryExecutionErrors.scala)
"""


def pipeline(*expressions: str) -> Pipeline:
    result = Pipeline("cast")
    rows = result.read("rows", connect.memory(), schema="card string")
    for number, expression in enumerate(expressions):
        step = rows.select(x=expression, step_name=f"step_{number}")
        step.write(f"out_{number}", connect.memory())
    return result


def test_failed_expression_is_reported_with_its_step() -> None:
    graph = pipeline("upper(card)", "cast(card as int) + 1")._plan()
    error = translate_error(graph, RuntimeError(CAST))
    assert error.where.endswith("`step_1`")
    assert "test_failures.py:" in error.where
    assert error.what == (
        'The value \'a\' of the type "STRING" cannot be cast to "INT" because it is malformed. Use `try_cast`'
        " to tolerate malformed input and return NULL instead in `cast(card as int) + 1`"
    )
    assert error.hint == "see Spark's log"


def test_expression_of_two_steps_is_reported_without_a_step() -> None:
    graph = pipeline("cast(card as int) + 1", "cast(card as int) + 1")._plan()
    error = translate_error(graph, RuntimeError(CAST))
    assert error.where == ""
    assert error.what.endswith("in `cast(card as int) + 1`")


def test_damaged_file_that_a_python_worker_reads_is_reported_as_such() -> None:
    text = "PythonException: \n  File x\nheadrace.errors.DamagedFileError: /c/home/current: the file is empty\n  hint: no"
    error = translate_error(pipeline("card")._plan(), RuntimeError(text))
    assert isinstance(error, DamagedFileError)
    assert str(error).startswith("/c/home/current: the file is empty\n  hint: restore a savepoint")


def test_damage_behind_the_error_of_a_sink_is_found() -> None:
    file = "/c/queries/totals/spark/offsets/3"
    cause = RuntimeError(
        f"org.apache.spark.sql.headrace.compat.DamagedFile: file:{file}: its checksum does not match"
    )
    error = OSError("the rows cannot be written")
    error.__cause__ = cause
    damage = find_damage(error)
    assert damage is not None
    assert damage.where == file
    assert damage.what.startswith("the file is damaged or missing: ")
    assert find_damage(OSError("FileNotFoundException: file:/elsewhere")) is None


def test_damaged_file_is_searched_if_no_message_names_it(tmp_path: Path) -> None:
    error = RuntimeError("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.")
    write_epochs(tmp_path, started=2, committed=2)
    damage = find_damage(error, tmp_path)
    assert damage is not None
    assert str(damage).startswith(f"{tmp_path}: the state of a step is damaged: [CANNOT_LOAD_STATE_STORE")
    (tmp_path / "spark" / "commits" / "1").write_bytes(b"")
    damage = find_damage(error, tmp_path)
    assert damage is not None
    assert damage.where == str(tmp_path / "spark" / "commits" / "1")
    assert find_damage(RuntimeError("another error"), tmp_path) is None


def test_missing_file_of_a_checkpoint_is_a_damage_and_a_missing_input_file_is_not(tmp_path: Path) -> None:
    file = "/c/queries/totals/spark/state/0/_stateSchema/default/0_52dd"
    damage = find_damage(
        RuntimeError(f"java.io.FileNotFoundException: File file:{file} does not exist"), tmp_path
    )
    assert damage is not None
    assert damage.where == file
    missing = RuntimeError("java.io.FileNotFoundException: File file:/data/in/3.json does not exist")
    assert find_damage(missing, tmp_path) is None
