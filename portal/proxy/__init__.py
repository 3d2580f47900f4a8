"""The workspace proxy's data plane: a process of its own that carries HTTP and WebSockets to workspaces.

Reading order: `gate` (what it asks of the rest of Steelyard), `routing` (what a request wants), `exchange` (one request
on its way), `client` and `upstream` (the two connections), `splice` (after an upgrade), `server` (start and stop).
"""
