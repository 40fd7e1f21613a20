"""Auctions: the close of an auction ends its window; the highest bid wins."""

from headrace import Pipeline, connect, windows

house = Pipeline("auctions")
events = house.read(
    "events",
    connect.files(path="events.jsonl"),
    format="json",
    schema="item string, kind string, bidder string, price double, ts timestamp",
).event_time("ts", out_of_order="20 seconds")
rounds = (
    events.key_by("item")
    .window(windows.punctuation("kind = 'close'"))
    .aggregate(
        "rounds",
        bids="count(price)",
        price="max(price)",
        winner="max_by(bidder, price)",
        closed="max(if(kind = 'close', ts, null))",
    )
)
sold = rounds.where("closed is not null and bids > 0").select(
    "item", "window.number as sale", "bids", "price", "winner", "closed", step_name="sold"
)
sold.write("results", connect.files(path="out", format="json"))
house.run(until="drained")
