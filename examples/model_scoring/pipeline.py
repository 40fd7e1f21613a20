"""Visits of a shop, scored by a model: how likely is an order?"""

from headrace import Pipeline, connect

shop = Pipeline("model-scoring")
visits = shop.read(
    "visits", connect.files(path="events.jsonl"), schema="visit string, minutes double, basket double"
)
scored = visits.map_batches("scored", "scoring:Score", output="visit string, score double, likely boolean")
scored.write("results", connect.files(path="out", format="json"))
shop.run(until="drained")
