package org.apache.spark.sql.headrace.analytics

import org.apache.commons.math3.special.Erf

class ErrorFunctionSuite extends munit.FunSuite {
  test("the approximations agree with Commons Math in each of their ranges") {
    for (i <- 0 to 3000) {
      val x = i / 100.0
      assertEqualsDouble(ErrorFunction.erfc(x), Erf.erfc(x), 1e-14, s"erfc($x)")
    }
  }

  test("the tail keeps its relative precision, and an infinite distance has none") {
    assertEqualsDouble(ErrorFunction.erfc(20) / Erf.erfc(20), 1.0, 1e-12)
    assertEqualsDouble(ErrorFunction.erfc(Double.PositiveInfinity), 0.0, 0.0)
  }
}
