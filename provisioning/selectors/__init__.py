"""Questions about workloads, always asked by an actor or inside a scope."""
