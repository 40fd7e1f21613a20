"""Running counts of words read from a TCP socket."""

from headrace import Pipeline, connect

counting = Pipeline("word-count")
lines = counting.read("lines", connect.socket(host="localhost", port=9999), format="text")
split = lines.select("explode(split(lower(value), '[^a-z]+')) as word", step_name="split")
words = split.where("word <> ''", step_name="words")
counts = words.key_by("word").aggregate("counts", n="count(*)")
counts.write("shown", connect.console())
counting.run()
