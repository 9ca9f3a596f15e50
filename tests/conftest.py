"""How the property tests run everywhere: no clock decides whether a test passes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("fastbin", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fastbin")
