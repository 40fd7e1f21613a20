package org.apache.spark.sql.headrace.compat

import java.nio.file.Files
import java.nio.file.attribute.{PosixFileAttributeView, PosixFilePermissions}

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}

/**
 * Hadoop's local file system, which sets permissions in this process. Without its native library, Hadoop's own
 * starts `chmod` for each file and directory that it creates.
 */
final class LocalFiles extends LocalFileSystem(new RawLocalFiles)

private final class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val file = pathToFile(path).toPath
    val posix = Files.getFileAttributeView(file, classOf[PosixFileAttributeView])
    if (posix == null || permission.getStickyBit) super.setPermission(path, permission)
    else posix.setPermissions(PosixFilePermissions.fromString(permission.toString))
  }
}
