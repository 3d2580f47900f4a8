"""Signing in by an organisation's provider, and the rules that an organisation makes for it."""
