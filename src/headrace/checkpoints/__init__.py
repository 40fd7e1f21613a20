"""The pipeline directory: layout, state signatures, the state reader and repartitioning."""
