package org.apache.spark.sql.headrace.compat

import org.apache.spark.sql.headrace.compat.kafka.KafkaFetch

class CompatSuite extends munit.FunSuite {
  test("the private parts of this Spark and Kafka are as expected") {
    Seq(KeyEncoding, DueStoreAccess, KafkaFetch).foreach { check =>
      assert(check.isPresent, check.target)
      assertEquals(check.failure, None, check.target)
    }
    assert(Compat.selfTest().contains("\"failure\":null"))
  }

  test("a changed class falls back to the plain implementation") {
    val changed = new CompatCheck {
      override val name = "changed"
      override val target = "a.Changed"
      override val fallback: Option[String] = Some("the plain one")
      override protected def verify(): Unit = throw new NoSuchMethodError("gone")
    }
    assert(!changed.isUsable)
    assert(changed.failure.get.contains("gone"))
  }
}
