from importlib import import_module

from django.apps import AppConfig

from portal.celery import app as celery_app

__all__ = ["PortalConfig", "celery_app"]


class PortalConfig(AppConfig):
    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("portal.signing")
