SELECT bidder, count(*) AS bids, sum(price) AS total, window_start AS starttime
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
UNION ALL
SELECT bidder, count(*) AS bids, sum(price) AS total, window_start AS starttime
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '20' SECOND))
GROUP BY bidder, window_start, window_end
UNION ALL
SELECT bidder, count(*) AS bids, sum(price) AS total, window_start AS starttime
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '30' SECOND))
GROUP BY bidder, window_start, window_end
UNION ALL
SELECT bidder, count(*) AS bids, sum(price) AS total, window_start AS starttime
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '40' SECOND))
GROUP BY bidder, window_start, window_end;
