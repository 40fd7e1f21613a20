package org.apache.spark.sql.headrace.compat

import java.io.{ByteArrayInputStream, EOFException, FilterOutputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Arrays

import org.apache.hadoop.fs._

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/**
 * Seals the files that Spark stores without a checksum: offsets, commits, the logs of sources, `metadata`, the
 * metadata and the schemas of state. State itself has the checksums of Spark.
 *
 * The format is that of `headrace/sealed_files.py`: after the content a line `#seal` with half of the SHA-256 of
 * the last two parts of the path and the content.
 */
final class SealedFiles(files: CheckpointFileManager) extends CheckpointFileManager {
  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    val output = files.createAtomic(path, overwriteIfPossible)
    if (SealedFiles.isSealed(path)) new SealingStream(output, path) else output
  }

  override def open(path: Path): FSDataInputStream = {
    val input = files.open(path)
    if (!SealedFiles.isSealed(path)) input
    else
      try new FSDataInputStream(new Content(SealedFiles.unseal(input.readAllBytes(), path)))
      finally input.close()
  }

  override def list(path: Path, filter: PathFilter): Array[FileStatus] = files.list(path, filter)
  override def mkdirs(path: Path): Unit = files.mkdirs(path)
  override def exists(path: Path): Boolean = files.exists(path)
  override def delete(path: Path): Unit = files.delete(path)
  override def isLocal: Boolean = files.isLocal
  override def createCheckpointDirectory(): Path = files.createCheckpointDirectory()
  override def close(): Unit = files.close()
}

object SealedFiles {
  private val Digits = 32
  private val Length = s"\n#seal ${"0" * Digits}\n".length

  /** Queries of Headrace: other queries of the session, and the logs of Spark's file sink, stay as they are. */
  private val OfQuery = ".*/queries/[^/]+/spark/(.+)".r
  private val OfPartition = """state/\d+/\d+/.*""".r

  def isSealed(path: Path): Boolean = path.toUri.getPath match {
    case OfQuery(OfPartition()) => path.getParent.getName == "_metadata"
    case OfQuery(_) => true
    case _ => false
  }

  def seal(content: Array[Byte], path: Path): Array[Byte] = {
    val digest = digestOf(path)
    digest.update(content)
    content ++ sealOf(digest)
  }

  def unseal(content: Array[Byte], path: Path): Array[Byte] = {
    val end = content.length - Length
    val body = Arrays.copyOf(content, math.max(end, 0))
    val digest = digestOf(path)
    digest.update(body)
    if (end < 0 || !Arrays.equals(content, end, content.length, sealOf(digest), 0, Length))
      throw new DamagedFile(path)
    body
  }

  private[compat] def digestOf(path: Path): MessageDigest = {
    val digest = MessageDigest.getInstance("SHA-256")
    digest.update(s"${path.getParent.getName}/${path.getName}\u0000".getBytes(UTF_8))
    digest
  }

  private[compat] def sealOf(digest: MessageDigest): Array[Byte] = {
    val half = digest.digest().take(Digits / 2).map("%02x".format(_)).mkString
    s"\n#seal $half\n".getBytes(UTF_8)
  }
}

/** Python recognises it by its name. */
final class DamagedFile(path: Path) extends IOException(s"$path: its checksum does not match, or is missing")

private final class SealingStream(output: CancellableFSDataOutputStream, digested: DigestedStream)
    extends CancellableFSDataOutputStream(digested) {
  def this(output: CancellableFSDataOutputStream, path: Path) =
    this(output, new DigestedStream(output, SealedFiles.digestOf(path)))

  override def cancel(): Unit = {
    digested.ended = true
    output.cancel()
  }
}

private final class DigestedStream(output: CancellableFSDataOutputStream, digest: MessageDigest)
    extends FilterOutputStream(output) {
  @volatile var ended = false

  override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

  override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
    digest.update(bytes, offset, length)
    output.write(bytes, offset, length)
  }

  /** Spark closes a file twice. */
  override def close(): Unit = if (!ended) {
    ended = true
    output.write(SealedFiles.sealOf(digest))
    output.close()
  }
}

private final class Content(bytes: Array[Byte])
    extends ByteArrayInputStream(bytes) with Seekable with PositionedReadable {
  override def seek(position: Long): Unit = pos = position.toInt
  override def getPos: Long = pos
  override def seekToNewSource(position: Long): Boolean = false

  override def read(position: Long, buffer: Array[Byte], offset: Int, length: Int): Int =
    if (position >= bytes.length) -1
    else {
      val count = math.min(length, bytes.length - position.toInt)
      System.arraycopy(bytes, position.toInt, buffer, offset, count)
      count
    }

  override def readFully(position: Long, buffer: Array[Byte], offset: Int, length: Int): Unit =
    if (read(position, buffer, offset, length) < length) throw new EOFException
  override def readFully(position: Long, buffer: Array[Byte]): Unit =
    readFully(position, buffer, 0, buffer.length)
}
