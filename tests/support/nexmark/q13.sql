CREATE TABLE side_input (id BIGINT, value STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (connector = 'sqlite', path = 'side_input.db', table = 'side_input');
CREATE SINK results WITH (connector = 'memory') AS
SELECT B.auction, B.bidder, B.price, B.date_time, S.value
FROM bid AS B JOIN side_input FOR SYSTEM_TIME AS OF B.now AS S ON S.id = mod(B.auction, 10000);
