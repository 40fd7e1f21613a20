package org.apache.spark.sql.headrace.compat

import java.io.{BufferedOutputStream, File, FileNotFoundException}
import java.nio.file.{AtomicMoveNotSupportedException, Files, NoSuchFileException, StandardCopyOption}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager, FileSystemBasedCheckpointFileManager}
import org.apache.spark.sql.internal.SQLConf

/**
 * The checkpoint files of a query (offsets, commits and state): `LocalCheckpointFiles` for local paths, Spark's
 * file manager elsewhere. `SealedFiles` detects damage in both.
 *
 * Spark's file manager uses Hadoop's local file system, which without its native library starts `chmod` and
 * `readlink` as processes, eight per file: about seventy at the end of a stateful micro-batch. In real-time mode
 * rows wait for them. A run of 24 small micro-batches with a window took 7.2 to 7.5 s of CPU time with this class
 * and 15 to 20 s without.
 */
final class CheckpointFiles(path: Path, conf: Configuration) extends CheckpointFileManager {
  private val files: CheckpointFileManager = new SealedFiles(path.getFileSystem(conf) match {
    case local: LocalFileSystem => new LocalCheckpointFiles(path, conf, local.getRaw)
    case _ => CheckpointFileManager.create(path, CheckpointFiles.withoutManager(conf))
  })

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = files
    .createAtomic(path, overwriteIfPossible)
  override def open(path: Path): FSDataInputStream = files.open(path)
  override def list(path: Path, filter: PathFilter): Array[FileStatus] = files.list(path, filter)
  override def mkdirs(path: Path): Unit = files.mkdirs(path)
  override def exists(path: Path): Boolean = files.exists(path)
  override def delete(path: Path): Unit = files.delete(path)
  override def isLocal: Boolean = files.isLocal
  override def createCheckpointDirectory(): Path = files.createCheckpointDirectory()
  override def close(): Unit = files.close()
}

object CheckpointFiles {
  private def withoutManager(conf: Configuration): Configuration = {
    val own = new Configuration(conf)
    own.unset(SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key)
    own
  }
}

/**
 * Local files without Hadoop's checksum files (`.4.crc`): Spark has its own checksums for state, `SealedFiles` for all else. The checksum file
 * of an older run is deleted with its file, because it would not match the next file of that name.
 */
private final class LocalCheckpointFiles(path: Path, conf: Configuration, raw: FileSystem)
    extends FileSystemBasedCheckpointFileManager(path, conf) {
  override protected val fs: FileSystem = raw
  override def list(path: Path, filter: PathFilter): Array[FileStatus] = fs
    .listStatus(path, (file: Path) => !isChecksum(file) && filter.accept(file))
  override def mkdirs(path: Path): Unit = Files.createDirectories(file(path).toPath)

  override def createTempFile(path: Path): FSDataOutputStream = {
    mkdirs(path.getParent)
    new FSDataOutputStream(new BufferedOutputStream(Files.newOutputStream(file(path).toPath)), null)
  }

  override def renameTempFile(from: Path, to: Path, overwriteIfPossible: Boolean): Unit = {
    if (!overwriteIfPossible && exists(to)) throw new FileAlreadyExistsException(s"$to exists already")
    try move(file(from), file(to))
    catch { case missing: NoSuchFileException => throw new FileNotFoundException(missing.getMessage) }
    deleteChecksum(to)
  }

  override def delete(path: Path): Unit = {
    super.delete(path)
    deleteChecksum(path)
  }

  override def createCheckpointDirectory(): Path = {
    val whole = fs.makeQualified(path)
    mkdirs(whole)
    whole
  }

  private def move(from: File, to: File): Unit =
    try Files.move(from.toPath, to.toPath, StandardCopyOption.ATOMIC_MOVE)
    catch {
      case _: AtomicMoveNotSupportedException => Files
          .move(from.toPath, to.toPath, StandardCopyOption.REPLACE_EXISTING)
    }

  private def deleteChecksum(path: Path): Unit = Files
    .deleteIfExists(new File(file(path).getParent, s".${path.getName}.crc").toPath)
  private def isChecksum(path: Path): Boolean = path.getName.startsWith(".") && path.getName.endsWith(".crc")
  private def file(path: Path): File = new File(fs.makeQualified(path).toUri.getPath)
}
