CREATE SINK results WITH (connector = 'memory') AS
SELECT seller, AVG(final) OVER (PARTITION BY seller ORDER BY date_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
FROM (
  SELECT id, seller, final, date_time
  FROM (
    SELECT A.id, A.seller, B.price AS final, B.date_time,
      ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) AS rownum
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires
  )
  WHERE rownum <= 1
) AS Q;
