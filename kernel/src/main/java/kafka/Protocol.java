// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.protocol;

public enum Errors {
  NONE;
  public static Errors forCode(short code) { return null; }
  public void maybeThrow() {}
}
