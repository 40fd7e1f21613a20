CREATE SINK results WITH (connector = 'memory') AS
SELECT auction, bidder, price, date_time, extra FROM bid;
