package org.apache.spark.sql.headrace.time

import java.nio.file.{Files, Path, StandardCopyOption}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.hadoop.fs

import org.apache.spark.sql.headrace.compat.SealedFiles

/**
 * The highest event times of one watermark operator in the checkpoint: a file `<epoch>.json` per
 * epoch, sealed, written before Spark commits the epoch. An epoch that is run again starts from the file of
 * the epoch before.
 */
class PartitionTimesStore(directory: Path) {
  import PartitionTimesStore._

  /** Returns the times as they were before an epoch; none before the first epoch of the operator. */
  def read(epoch: Long): Map[String, Long] =
    if (epoch == 0) Map.empty
    else {
      // So that a file that is missing later has been removed.
      if (!Files.isDirectory(directory)) write(epoch - 1, Map.empty)
      val content = SealedFiles.unseal(Files.readAllBytes(file(epoch - 1)), hadoopPath(epoch - 1))
      val fields = mapper.readTree(content).properties()
      fields.asScala.map(field => field.getKey -> field.getValue.asLong).toMap
    }

  /** Writes the times as they are after an epoch, and removes files that no restart needs. */
  def write(epoch: Long, times: Map[String, Long]): Unit = {
    Files.createDirectories(directory)
    val content = SealedFiles.seal(mapper.writeValueAsBytes(times.asJava), hadoopPath(epoch))
    val draft = Files.write(directory.resolve(s".$epoch"), content)
    Files.move(draft, file(epoch), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    epochs.filter(_ < epoch - 1).foreach(old => Files.deleteIfExists(file(old)))
  }

  private def file(epoch: Long): Path = directory.resolve(s"$epoch.json")

  private def hadoopPath(epoch: Long) = new fs.Path(file(epoch).toUri)

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
