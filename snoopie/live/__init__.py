"""What programs do now: as metrics for Prometheus and OpenTelemetry, and on a terminal."""
