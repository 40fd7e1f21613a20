"""Card fraud with patterns: a small payment followed by a large one, two countries, an unconfirmed login."""

from headrace import Pipeline, connect, patterns

fraud = Pipeline("card-patterns")
events = fraud.read(
    "events",
    connect.files(path="events.jsonl"),
    schema="card string, kind string, country string, amount double, ts timestamp",
).event_time("ts", out_of_order="10 seconds")
payments = events.where("kind = 'payment'", step_name="payments").key_by("card")

small_then_large = payments.match(
    "small_then_large",
    patterns.step("small", "amount < 1").followed_by(
        "large", "amount > 500 and amount > 1000 * small.amount"
    ),
    within="1 minute",
    select={"rule": "'small then large'", "since": "small.ts", "at": "large.ts", "amount": "large.amount"},
)
two_countries = payments.match(
    "two_countries",
    patterns.step("here").next("there", "country <> here.country"),
    within="30 minutes",
    skip="to_next",
    select={"rule": "'two countries'", "since": "here.ts", "at": "there.ts", "amount": "there.amount"},
)
unconfirmed = events.key_by("card").match(
    "unconfirmed",
    patterns.step("login", "kind = 'login'").not_followed_by("confirmed", "kind = 'confirmation'"),
    within="5 minutes",
    select={"rule": "'no confirmation'", "since": "login.ts", "at": "login.ts + interval 5 minutes"},
)

small_then_large.write("small_then_large_alerts", connect.files(path="out/small_then_large", format="json"))
two_countries.write("two_countries_alerts", connect.files(path="out/two_countries", format="json"))
unconfirmed.write("unconfirmed_alerts", connect.files(path="out/unconfirmed", format="json"))
fraud.run(until="drained")
