package org.apache.spark.sql.headrace.operators

class CountsSuite extends munit.FunSuite {
  /** Counts of a task: rows of one partition of an epoch. */
  private def task(epoch: Long, partition: Int, rows: Long): Counts = {
    val counts = new Counts
    counts.add(StatePartition(epoch, partition))
    counts.add(Counts.Rows, rows)
    counts
  }

  private def mergeAll(tasks: Counts*): Counts = {
    val counts = new Counts
    tasks.foreach(counts.merge)
    counts
  }

  private def rows(counts: Counts): Long = counts.value.get("rows")

  test("partitions and epochs add up") {
    assertEquals(rows(mergeAll(task(0, 0, 1), task(0, 1, 2), task(1, 0, 4))), 7L)
  }

  test("a partition that runs again replaces its counts") {
    assertEquals(rows(mergeAll(task(0, 0, 1), task(0, 1, 2), task(0, 0, 8))), 10L)
  }

  test("the counts of an epoch, and of one that was taken") {
    val counts = mergeAll(task(0, 0, 1), task(1, 0, 2), task(2, 0, 4))
    assert(counts.of(1).contains("\"rows\": 2"))
    assert(counts.take(1).contains("\"rows\": 2"))
    assert(counts.of(1).contains("\"rows\": 0"))
    assertEquals(rows(counts), 7L)
  }

  test("each counter has its own name") {
    assertEquals(Counts.Names.distinct, Counts.Names)
    assertEquals(Counts.Names(Counts.Superseded), "superseded")
  }
}
