"""The proof of isolation: routes × roles × objects of a running installation, asked and signed."""
