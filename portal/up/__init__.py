"""`make up`: starts the servers and processes of one installation. Nothing here imports Django, which needs them."""
