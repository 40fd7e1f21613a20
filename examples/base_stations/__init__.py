"""Three alarms that rise within a minute."""
