package org.apache.spark.sql.headrace.compat

import java.io.IOException
import java.net.URI
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path => JPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path}

class LocalFilesSuite extends munit.FunSuite {
  private def open(files: LocalFileSystem): FileSystem = {
    files.initialize(URI.create("file:///"), new Configuration(false))
    files
  }

  /** The permissions of what a file system creates, by name. */
  private def permissionsOf(files: FileSystem): Map[String, String] = {
    val root = Files.createTempDirectory("local-files")
    def at(name: String) = new Path(root.resolve(name).toUri)
    files.mkdirs(at("a/b"))
    files.mkdirs(at("private"), new FsPermission("700"))
    files.create(at("a/b/file")).close()
    files.create(at("secret"), new FsPermission("600"), true, 4096, 1: Short, 1L << 20, null).close()
    files.setPermission(at("a"), new FsPermission("1777"))
    Seq("a", "a/b", "private", "a/b/file", "a/b/.file.crc", "secret")
      .map(name => name -> permissions(root.resolve(name))).toMap
  }

  private def permissions(file: JPath): String = PosixFilePermissions
    .toString(Files.getPosixFilePermissions(file))

  test("files and directories have the permissions that Hadoop gives them") {
    val expected = permissionsOf(open(new LocalFileSystem))
    assertEquals(expected("secret"), "rw-------")
    assertEquals(permissionsOf(open(new LocalFiles)), expected)
  }

  test("a file that does not exist is an error") {
    val missing = new Path(Files.createTempDirectory("local-files").resolve("missing").toUri)
    intercept[IOException](open(new LocalFiles).setPermission(missing, new FsPermission("600")))
  }
}
