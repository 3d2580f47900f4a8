"""The organisation's own pages: what it is, who belongs to it, and where roles are held."""
