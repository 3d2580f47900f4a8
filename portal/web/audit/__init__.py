"""The organisation's audit log: search, entries, saved views, exports, streams, and how long it is kept."""
