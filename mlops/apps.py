from django.apps import AppConfig


class MlopsConfig(AppConfig):
    name = "mlops"
    default_auto_field = "django.db.models.BigAutoField"
