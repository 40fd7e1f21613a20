CREATE SOURCE person (id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,
  date_time TIMESTAMP, extra STRING, now AS PROCTIME(), WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND) WITH (connector = 'memory');
CREATE SOURCE auction (id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING, WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND) WITH (connector = 'memory');
CREATE SOURCE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING,
  now AS PROCTIME(), WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND) WITH (connector = 'memory');
