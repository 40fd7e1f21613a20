package org.apache.spark.sql.headrace.time

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper

/**
 * The highest event times of one watermark operator in the checkpoint: a file `<epoch>.json` per
 * epoch, written before Spark commits the epoch. An epoch that is run again starts from the file of
 * the epoch before.
 */
class PartitionTimesStore(directory: Path) {
  import PartitionTimesStore._

  /** Returns the times as they were before an epoch. */
  def read(epoch: Long): Map[String, Long] = epochs.filter(_ < epoch).maxOption
    .fold(Map.empty[String, Long]) { last =>
      val fields = mapper.readTree(Files.readString(file(last), UTF_8)).properties()
      fields.asScala.map(field => field.getKey -> field.getValue.asLong).toMap
    }

  /** Writes the times as they are after an epoch, and removes files that no restart needs. */
  def write(epoch: Long, times: Map[String, Long]): Unit = {
    Files.createDirectories(directory)
    val draft = Files
      .writeString(directory.resolve(s".$epoch"), mapper.writeValueAsString(times.asJava), UTF_8)
    Files.move(draft, file(epoch), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    epochs.filter(_ < epoch - 1).foreach(old => Files.deleteIfExists(file(old)))
  }

  private def file(epoch: Long): Path = directory.resolve(s"$epoch.json")

  private def epochs: Seq[Long] =
    if (!Files.isDirectory(directory)) Nil
    else Using.resource(Files.list(directory)) { files =>
      files.iterator().asScala.map(_.getFileName.toString).collect { case Name(epoch) => epoch.toLong }.toSeq
    }
}

private object PartitionTimesStore {
  val mapper = new ObjectMapper()
  val Name = raw"(\d+)\.json".r
}
