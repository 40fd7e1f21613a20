// For IDEs, and for running the tests from one. The package is built by hatch_build.py with the Scala compiler in
// pyspark's jars; run `make .venv/.ready` first, because Spark's jars are taken from there.
name := "headrace-kernel"
scalaVersion := "2.13.18"
scalacOptions ++= Seq("-deprecation", "-feature", "-unchecked", "-Wunused:imports,locals,privates")

// src/main/java declares parts of kafka-clients for the compiler only; here the real jar is used.
// Of the folders for versions of Spark, those that apply to the one in .venv.
Compile / unmanagedSourceDirectories := Seq("scala", "scala-4.2+", "scala-4.3")
  .map((Compile / sourceDirectory).value / _)
Compile / unmanagedJars ++=
  ((ThisBuild / baseDirectory).value / ".." / ".venv" / "lib" ** "pyspark" / "jars" * "*.jar").classpath

libraryDependencies ++= Seq(
  "org.apache.kafka" % "kafka-clients" % "3.9.2" % Provided,
  "org.apache.spark" %% "spark-sql-kafka-0-10" % "4.2.0" % Provided intransitive (),
  "org.scalameta" %% "munit" % "1.1.0" % Test)
Test / fork := true
