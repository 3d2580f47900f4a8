"""The roof: settings, URL root, API assembly, pages that join apps, the workspace proxy and `manage.py up`."""
