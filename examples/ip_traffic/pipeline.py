"""Which hosts send packets of more than 512 bytes, and when: a query in SQL."""

from headrace import Pipeline, connect

traffic = Pipeline("ip-traffic")
traffic.read(
    "packets",
    connect.files(path="events.jsonl"),
    schema="sourceIP string, destinationIP string, length int, time timestamp",
)
large = traffic.sql("large", "select sourceIP, time from packets where length > 512")
large.write("results", connect.files(path="out", format="json"))
traffic.run(until="drained")
