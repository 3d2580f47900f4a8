"""The console of the platform team: every organisation, seen and governed from one place."""
