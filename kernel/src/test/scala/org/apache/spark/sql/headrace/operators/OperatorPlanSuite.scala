package org.apache.spark.sql.headrace.operators

import scala.util.Try

import org.apache.avro.Schema

class OperatorPlanSuite extends munit.FunSuite {
  test("keys have names in state that Avro allows, and their own where it does") {
    Seq("card", "_2", "größe", "カード", "card no", "a.b", "2nd", "m²", "e\u0301").foreach { name =>
      val allowed = Try(new Schema.Field(name, Schema.create(Schema.Type.INT))).isSuccess
      assertEquals(OperatorPlan.stateName(name, 3), if (allowed) name else "__key3", name)
    }
  }
}
