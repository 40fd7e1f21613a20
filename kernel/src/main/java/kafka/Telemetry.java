/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Clients.java: declared for the compiler, no classes are made of it.
package org.apache.kafka.common.telemetry.internals;

public interface ClientTelemetrySender {}
