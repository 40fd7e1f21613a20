package org.apache.spark.sql.headrace.sources

import java.io.{IOException, UncheckedIOException}
import java.nio.file.attribute.{BasicFileAttributes, FileTime}
import java.nio.file.{FileVisitOption, Files, Path, Paths}
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}
import java.util.function.BiPredicate

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.fs.{Path => HadoopPath}

import org.apache.spark.sql.SQLContext
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.execution.streaming.Source
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource
import org.apache.spark.sql.sources.StreamSourceProvider
import org.apache.spark.sql.types.StructType

/** Spark's file source for the format in the option `files`; an unchanged directory is not listed again. */
class WatchedFilesProvider extends StreamSourceProvider {
  override def sourceSchema(context: SQLContext, schema: Option[StructType], provider: String,
      options: Map[String, String]): (String, StructType) = ("FileSource", schema.get.asNullable)

  override def createSource(context: SQLContext, metadata: String, schema: Option[StructType],
      provider: String, options: Map[String, String]): Source =
    new WatchedFiles(context.sparkSession.asInstanceOf[SparkSession], options("path"), options("files"),
      schema.get.asNullable, metadata, options - "files")
}

/**
 * Spark's file source lists its directory at every poll, twenty times a second, and each listing searches all
 * jars of the class path. This one first compares when the directories have changed, which takes microseconds.
 *
 * The clock of a file system can be coarse or wrong, so the directory is listed every two seconds anyway.
 */
private class WatchedFiles(session: SparkSession, path: String, format: String, schema: StructType,
    metadata: String, options: Map[String, String])
    extends FileStreamSource(session, path, format, schema, Nil, metadata, options) {
  private val root = WatchedFiles.localDirectory(path)
  private val depth = if (options.get("recursiveFileLookup").contains("true")) Int.MaxValue else 0
  private var isBounded = false
  private var newest: Offset = _

  /** When each directory had changed before a listing that watched nothing new. */
  private var unchanged: Map[Path, FileTime] = Map.empty
  private var listedAt = 0L

  override def prepareForTriggerAvailableNow(): Unit = {
    isBounded = true
    super.prepareForTriggerAvailableNow()
  }

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    if (!isUnchanged) {
      val (before, offset) = (directories, newest)
      listedAt = System.nanoTime()
      newest = super.latestOffset(start, limit)
      unchanged = if (newest == offset && WatchedFiles.areOld(before.values)) before else Map.empty
    }
    newest
  }

  private def isUnchanged: Boolean = unchanged.nonEmpty && !isBounded &&
    System.nanoTime() - listedAt < WatchedFiles.Period && unchanged.forall { case (directory, time) =>
      WatchedFiles.changeTime(directory).contains(time)
    }

  /** When each directory that is listed has changed; empty if they cannot be watched. */
  private def directories: Map[Path, FileTime] =
    try root.fold(Map.empty[Path, FileTime]) { directory =>
        val isDirectory: BiPredicate[Path, BasicFileAttributes] = (_, attributes) => attributes.isDirectory
        Using.resource(Files.find(directory, depth, isDirectory, FileVisitOption.FOLLOW_LINKS)) { below =>
          val watched = below.iterator().asScala.take(WatchedFiles.MaxDirectories + 1)
            .flatMap(each => WatchedFiles.changeTime(each).map(each -> _)).toMap
          if (watched.size > WatchedFiles.MaxDirectories) Map.empty else watched
        }
      }
    catch { case _: IOException | _: UncheckedIOException => Map.empty }
}

private object WatchedFiles {
  private val Period = SECONDS.toNanos(2)
  private val MaxDirectories = 64

  /** Two changes within a tick of the clock have the same time. */
  private val Tick = 100

  def localDirectory(path: String): Option[Path] = {
    val uri = new HadoopPath(path).toUri
    Option.when(uri.getScheme == "file")(Paths.get(uri.getPath)).filter(Files.isDirectory(_))
  }

  def areOld(times: Iterable[FileTime]): Boolean = times
    .forall(_.to(MILLISECONDS) < System.currentTimeMillis() - Tick)

  def changeTime(directory: Path): Option[FileTime] =
    try Some(Files.getLastModifiedTime(directory))
    catch { case _: IOException => None }
}
