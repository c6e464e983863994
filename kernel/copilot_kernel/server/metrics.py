"""Metrics for Prometheus, in a registry of their own: Jupyter Server's stay at `/metrics`."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKET_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """`sessions`, `agents` and `turns` are called at each scrape."""

    def __init__(self, sessions: Callable[[], float], agents: Callable[[], float], turns: Callable[[], float]) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("copilot_requests", "Requests answered", ["route", "status"], registry=registry)
        self.duration = Histogram(
            "copilot_request_duration_seconds",
            "Time to the end of the answer, in seconds",
            ["route"],
            buckets=BUCKET_SECONDS,
            registry=registry,
        )
        self.first_token = Histogram(
            "copilot_first_token_seconds",
            "Time to first text, in seconds",
            buckets=BUCKET_SECONDS,
            registry=registry,
        )
        self.tokens = Counter("copilot_tokens", "Tokens, as far as the agent reports them", ["kind"], registry=registry)
        for name, about, count in (
            ("copilot_sessions", "Open conversations", sessions),
            ("copilot_agents", "Running agent processes", agents),
            ("copilot_turns", "Running turns", turns),
        ):
            Gauge(name, about, registry=registry).set_function(count)
