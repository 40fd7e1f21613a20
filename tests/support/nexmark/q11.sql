CREATE SINK results WITH (connector = 'memory') AS
SELECT B.bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '10' SECOND) AS B
GROUP BY B.bidder, window_start, window_end;
