"""Card fraud: payments outside the home country, cards that are being tested, totals per card."""

from headrace import Pipeline, connect, windows

fraud = Pipeline("card-fraud")
recording = connect.generator(replay="events.jsonl", time="ts", speed=120)
schema = "id string, card string, country string, amount double, ts timestamp"
rows = fraud.read("payments", recording, format="json", schema=schema)
payments = rows.event_time("ts", out_of_order="1 minute")
homes = connect.files(path="homes.csv", schema="card string, home string")
abroad = payments.lookup("with_home", homes, on="card").where("country <> home", step_name="abroad")
per_card = payments.key_by("card").window(windows.tumbling("10 minutes"))
totals = per_card.aggregate(
    "totals", n="count(*)", total="round(sum(amount), 2)", smallest="min(amount)", largest="max(amount)"
)
tested = totals.where("smallest < 1 and largest > 500").drop("pane", step_name="tested")

abroad.write("used_abroad", connect.console())
tested.write("being_tested", connect.console())
abroad.write("abroad_table", connect.sqlite(path="fraud.db", table="abroad", key=["id"]))
tested.write("tested_table", connect.sqlite(path="fraud.db", table="tested", key=["card", "window"]))
totals.write("totals_table", connect.sqlite(path="fraud.db", table="totals", key=["card", "window"]))
fraud.run(until="drained")
