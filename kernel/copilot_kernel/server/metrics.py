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
            "Until the answer ended",
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
        self.tokens = Counter("copilot_tokens", "Tokens, where the agent tells them", ["kind"], registry=registry)
        for name, about, count in (
            ("copilot_sessions", "Open conversations", sessions),
            ("copilot_agents", "Agent processes that live", agents),
            ("copilot_turns", "Turns that run", turns),
        ):
            Gauge(name, about, registry=registry).set_function(count)
