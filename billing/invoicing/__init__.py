"""The rules of documents: who must be named, which tax, which credit first, what a note gives back. Pure."""
