package org.apache.spark.sql.headrace.compat

import org.apache.spark.sql.headrace.Kernel
import org.apache.spark.sql.headrace.compat.kafka.KafkaFetch
import org.apache.spark.sql.headrace.operators.KeyEncoding
import org.apache.spark.sql.headrace.operators.state.DueStoreAccess

class CompatSuite extends munit.FunSuite {
  test("the private parts of this Spark and Kafka are as expected") {
    Seq(KeyEncoding, DueStoreAccess, KafkaFetch).foreach { check =>
      assert(check.isPresent, check.target)
      assertEquals(check.failure, None, check.target)
    }
    Kernel.selfTest()
  }

  test("a changed class falls back to the plain implementation") {
    val changed = new CompatCheck {
      override val target = "a.Changed"
      override val fallback: Option[String] = Some("the plain one")
      override protected def verify(): Unit = throw new NoSuchMethodError("gone")
    }
    assert(!changed.isUsable)
    assert(changed.failure.get.contains("gone"))
  }
}
