// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.record;

import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.utils.BufferSupplier;

public enum ControlRecordType {
  ABORT;
  public static ControlRecordType parse(ByteBuffer key) { return null; }
}

public interface Record {
  ByteBuffer key();
}

public interface Records {}

public class MemoryRecords implements Records {
  public static MemoryRecords readableRecords(ByteBuffer buffer) { return null; }
  public Iterable<MutableRecordBatch> batches() { return null; }
}

public interface RecordBatch extends Iterable<Record> {
  long lastOffset();
  long nextOffset();
  long producerId();
  boolean isControlBatch();
  boolean isTransactional();
}

public interface MutableRecordBatch extends RecordBatch {}

public abstract class DefaultRecordBatch implements MutableRecordBatch {
  public long baseOffset() { return 0; }
  public Integer countOrNull() { return null; }
  public void ensureValid() {}
  public InputStream recordInputStream(BufferSupplier buffers) { return null; }
}
