"""The production driver: workloads on a Kubernetes cluster that is reached through its API server alone."""
