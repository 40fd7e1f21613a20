package org.apache.spark.sql.headrace.time

import java.nio.file.Paths
import java.{lang, util}

import scala.jdk.CollectionConverters._

import org.apache.spark.util.Clock

/** [[PartitionTimes]] for tests in Python: Java collections, and null for an unknown time. */
class PartitionTimesDriver(idleMillis: Long, clock: Clock) {
  private val times = new PartitionTimes(idleMillis, clock)
  private var reached: Option[Long] = None

  def complete(rows: util.Map[String, lang.Number], unread: util.Set[String]): lang.Long = {
    val highest = rows.asScala.map { case (name, time) =>
      name -> Option(time).fold(PartitionTimes.Never)(_.longValue)
    }
    advance(times.complete(None, highest.toMap, unread.asScala.toSet))
  }

  def tick(): lang.Long = advance(times.tick())

  private def advance(time: Option[Long]): lang.Long = {
    reached = (reached ++ time).maxOption
    reached.map(Long.box).orNull
  }
}

object PartitionTimesDriver {
  /** The store of a directory, with Java collections. */
  def store(directory: String): StoreDriver = new StoreDriver(new PartitionTimesStore(Paths.get(directory)))

  class StoreDriver(store: PartitionTimesStore) {
    def write(epoch: Long, times: util.Map[String, lang.Number]): Unit = store
      .write(epoch, times.asScala.map { case (name, time) => name -> time.longValue }.toMap)

    def read(epoch: Long): util.Map[String, Long] = store.read(epoch).asJava
  }
}
