"""The JVM: Java, jars, the kernel's jar, sessions and error translation."""
