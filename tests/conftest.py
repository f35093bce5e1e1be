from hypothesis import HealthCheck, settings

# A loaded machine is slow for reasons that are not ours: time is for benchmarks, not for properties.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")
