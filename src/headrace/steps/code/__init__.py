"""Steps that run user code in Python: functions and processors."""
