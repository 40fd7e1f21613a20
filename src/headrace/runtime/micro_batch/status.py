"""Assemble the status of a run from progress reports, deliveries and watermarks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.runtime.micro_batch.idleness import clock_warnings
from headrace.runtime.progress.delays import Delays
from headrace.runtime.progress.status import RulesStatus, Status

if TYPE_CHECKING:
    from headrace.connectors.base import Reception
    from headrace.functions.totals import CallTotals
    from headrace.lowering.sources import StreamInputs
    from headrace.lowering.watermarks import Heartbeats
    from headrace.runtime.delivery import Delivery
    from headrace.runtime.progress.log import ProgressLog
    from headrace.runtime.progress.row_accounting import RowAccounting


class RunStatus:
    """The status of one run; `close` stores what the kernel drops when the run ends."""

    def __init__(
        self,
        calls: Mapping[str, CallTotals],
        deliveries: list[Delivery],
        inputs: list[StreamInputs],
        progress: ProgressLog,
        heartbeats: Heartbeats,
    ) -> None:
        self._calls = calls
        self._deliveries = deliveries
        self._inputs = inputs
        self._receptions: dict[str, Reception] = {}
        self._progress = progress
        self._heartbeats = heartbeats
        self._warnings: tuple[str, ...] = ()
        self._delays = Delays()

    def read(self, *, active: bool, phase: str) -> Status:
        """Return the present status."""
        sinks = [sink for delivery in self._deliveries for sink in delivery.sinks]
        reloaders = [delivery.rules for delivery in self._deliveries if delivery.rules is not None]
        steps = dict(self._row_accounting())
        dead_letters = self._dead_letters()
        if active:
            self._update_delays()
            self._update_receptions()
        self._update_warnings()
        status = self._progress.status({sink.name: sink.rows for sink in sinks}, active=active, phase=phase)
        return replace(
            status,
            late=status.late + sum(step.late for step in steps.values()),
            dead_letters=sum(dead_letters.values()) + sum(each.diverted for each in self._deliveries),
            dead_letters_of=dead_letters,
            slowest_partition=self._heartbeats.slowest_partition(),
            ledgers={sink.name: sink.ledger_epoch for sink in sinks if sink.ledger_epoch is not None},
            steps=steps,
            calls={step: totals.values() for step, totals in self._calls.items()},
            rules={each.name: RulesStatus(each.in_force, tuple(map(str, each.faults))) for each in reloaders},
            receptions=self._receptions,
            warnings=self._warnings,
            delays=self._delays,
            mismatches=tuple(each for delivery in self._deliveries for each in delivery.mismatches),
            mismatch_count=sum(delivery.mismatches.count for delivery in self._deliveries),
        )

    def close(self) -> None:
        """Read warnings, messages and delays for the last time, before heartbeats and inputs are closed."""
        self._update_warnings()
        self._update_receptions()
        with contextlib.suppress(Exception):  # the JVM may have exited
            self._update_delays()

    def _dead_letters(self) -> dict[str, int]:
        """Return the dead letters of each source and function; only one query counts those of a step."""
        return {
            step: rows for delivery in self._deliveries for step, rows in delivery.dead_letter_counts.items()
        }

    def _row_accounting(self) -> Iterator[tuple[str, RowAccounting]]:
        for delivery in self._deliveries:
            own = [] if delivery.accounting is None else [delivery.accounting]
            for log in (*own, *delivery.stateless_logs.values()):
                yield log.step, log.current()

    def _update_delays(self) -> None:
        self._delays = Delays.of(self._heartbeats.delays()) or self._delays

    def _update_receptions(self) -> None:
        """Read the counts of the sources that are open; they have none once the run has closed them."""
        now = {name: counts for inputs in self._inputs for name, counts in inputs.receptions().items()}
        self._receptions = now or self._receptions

    def _update_warnings(self) -> None:
        self._warnings = tuple(dict.fromkeys([*self._warnings, *clock_warnings(self._heartbeats)]))
