"""Card fraud by a rule, and by a model that learns from reviews, which arrive minutes after the payments."""

from headrace import Pipeline, connect, models

fraud = Pipeline("fraud-learning")
schema = "id string, card string, country string, amount double, ts timestamp"
rows = fraud.read("rows", connect.files(path="events.jsonl"), schema=schema)
homes = connect.files(path="homes.csv", schema="card string, home string")
payments = rows.lookup("with_home", homes, on="card").with_columns(
    abroad="cast(country <> home as int)", step_name="payments"
)
abroad = payments.where("abroad = 1").select("id", "card", "amount", "ts", step_name="abroad")
reviews = fraud.read(
    "reviews",
    connect.files(path="reviews.jsonl"),
    schema="id string, fraud boolean, reviewed_at timestamp",
).event_time("reviewed_at", out_of_order="1 minute")
scored = (
    payments.event_time("ts", out_of_order="1 minute")
    .union(reviews)
    .learn(
        "scored",
        models.river("preprocessing.StandardScaler() | linear_model.LogisticRegression()"),
        features=["amount", "abroad"],
        label="fraud",
        on="id",
        label_delay="15 minutes",
        output="probability",
    )
)
suspicious = scored.where("prediction > 0.5").select(
    id="id",
    card="card",
    amount="amount",
    ts="ts",
    probability="round(prediction, 6)",
    step_name="suspicious",
)
abroad.write("rule_files", connect.files(path="out/abroad", format="json"))
suspicious.write("model_files", connect.files(path="out/suspicious", format="json"))
fraud.run(until="drained")
