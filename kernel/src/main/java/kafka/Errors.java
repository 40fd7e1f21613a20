// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.errors;

import org.apache.kafka.common.KafkaException;

public class DisconnectException extends KafkaException {
  public DisconnectException(String message) {}
}

public class TimeoutException extends KafkaException {
  public TimeoutException(String message) {}
}
