"""`manage.py backup` and `restore`: database, files and keys of one installation in one archive."""
