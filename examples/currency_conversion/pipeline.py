"""Orders in several currencies, converted to euros with the rate that was valid at the time of the order."""

from headrace import Pipeline, connect

shop = Pipeline("currency-conversion")
orders = shop.read(
    "orders",
    connect.files(path="events.csv"),
    schema="id int, currency string, amount double, ts timestamp",
).event_time("ts", out_of_order="1 minute")
rates = shop.read(
    "rates", connect.files(path="rates.csv"), schema="currency string, rate double, since timestamp"
).event_time("since", out_of_order="1 minute")
priced = orders.join_as_of("priced", rates, on="currency", tolerance="1 hour")
euros = priced.with_columns(euros="round(amount / rate, 2)").drop("since", step_name="euros")
euros.write("results", connect.files(path="out", format="json"))
shop.run(until="drained")
