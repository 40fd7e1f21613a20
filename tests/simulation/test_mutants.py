"""The simulation finds every product that lacks one guard."""

from __future__ import annotations

import pytest

from tests.simulation.histories import simulate
from tests.simulation.mutants import MUTANTS, Mutant, find


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_simulation_finds_a_product_without(mutant: Mutant) -> None:
    finding = find(mutant)
    assert finding is not None
    assert simulate(finding[0]).violation == ""  # with the guard, the same history is right
