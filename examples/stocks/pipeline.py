"""Rolling minimum, maximum and mean per symbol over 10 seconds, every 5 seconds."""

from headrace import Pipeline, connect, windows

stocks = Pipeline("stocks")
ticks = stocks.read(
    "ticks", connect.files(path="events.csv"), schema="symbol string, price double, ts timestamp"
)
rolling = (
    ticks.event_time("ts", out_of_order="2 seconds")
    .key_by("symbol")
    .window(windows.sliding("10 seconds", every="5 seconds"))
    .aggregate("rolling", low="min(price)", high="max(price)", mean="avg(price)")
)
rolling.drop("pane").write("results", connect.files(path="out", format="json"))
stocks.run(until="drained")
