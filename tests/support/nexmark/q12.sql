CREATE SINK results WITH (connector = 'memory') AS
SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TUMBLE(TABLE bid, DESCRIPTOR(now), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end;
