WITH panes AS (
  SELECT bidder, count(*) AS bids, sum(price) AS total, window_time AS closed
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
  GROUP BY bidder, window_start, window_end, window_time
)
SELECT bidder, sum(bids) AS bids, sum(total) AS total, window_start AS starttime
FROM TABLE(TUMBLE(TABLE panes, DESCRIPTOR(closed), INTERVAL '50' SECOND))
GROUP BY bidder, window_start, window_end;
