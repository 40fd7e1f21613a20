CREATE SINK results WITH (connector = 'memory') AS
SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid;
