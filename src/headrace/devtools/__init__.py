"""Development tools: local Kafka, MQTT and Spark servers, their clients, `doctor` and templates."""
