// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.config;

public class AbstractConfig {
  public Integer getInt(String key) { return null; }
  public Long getLong(String key) { return null; }
  public String getString(String key) { return null; }
}
