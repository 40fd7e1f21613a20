"""Analytics: anomaly detection and models. The public names of detectors are in `headrace.detectors`."""
