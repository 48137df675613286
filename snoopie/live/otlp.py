"""Metrics for OpenTelemetry, by OTLP over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

import snoopie
from snoopie.live.metrics import Family, Metrics

_PATH = "/v1/metrics"


def export(metrics: Metrics, lock: threading.Lock, url: str, seconds: float, service: str) -> Callable[[], None]:
    """Sends them every so many ``seconds``, as those of a ``service``; what is returned sends the last ones and ends
    that."""
    exporter = OTLPMetricExporter(endpoint=_endpoint(url))
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=1000 * seconds)
    resource = Resource.create({"service.name": service, "service.version": snoopie.__version__})
    provider = MeterProvider([reader], resource=resource)
    meter = provider.get_meter("snoopie", snoopie.__version__)

    def observe(name: str) -> Callable[[CallbackOptions], Iterable[Any]]:
        def observed(_: CallbackOptions) -> Iterable[Any]:
            with lock:
                family = _named(metrics, name)
            return [
                Observation(value, dict(zip(family.labels, labels, strict=True)))
                for labels, value in family.values.items()
            ]

        return observed

    for family in metrics.families():
        make = meter.create_observable_counter if family.total else meter.create_observable_up_down_counter
        make(f"snoopie.cuda.{family.name}", [observe(family.name)], unit=family.unit, description=family.help)
    return lambda: provider.shutdown()


def _named(metrics: Metrics, name: str) -> Family:
    return next(family for family in metrics.families() if family.name == name)


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.path.strip("/") else urlunsplit(parts._replace(path=_PATH))
