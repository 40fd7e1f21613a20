"""Temperatures of rooms over MQTT: de-noised values, and two kinds of anomalies."""
