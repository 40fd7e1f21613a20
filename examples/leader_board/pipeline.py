"""The three best players of each game, as a table that follows every score and every withdrawal."""

import os

from headrace import Pipeline, connect

games = Pipeline("leader-board")
scores = games.read(
    "scores",
    connect.files(path="events.jsonl"),
    schema="game string, player string, score int, ts timestamp",
).event_time("ts", out_of_order="30 seconds")
current = scores.key_by("game", "player").latest("current", delete_when="score is null")
leaders = current.key_by("game").top_n("leaders", n=3, order_by="score desc, ts")
board = leaders.select("game", "rank", "player", "score")
if url := os.environ.get("LEADER_BOARD_URL"):
    board.write("board", connect.postgres(url=url, table="board", key=["game", "rank"]))
else:
    board.write("board", connect.sqlite(path="board.db", table="board", key=["game", "rank"]))
games.run(until="drained")
