/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Clients.java: declared for the compiler, no classes are made of it.
package org.apache.kafka.common.config;

public class AbstractConfig {
  public Integer getInt(String key) { return null; }
  public Long getLong(String key) { return null; }
  public String getString(String key) { return null; }
}
