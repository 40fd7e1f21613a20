"""The checkpoint directory: layout, state signatures, offset identities and repartitioning."""
