"""People. A user is global; what one may do is said by memberships."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models

from core.models import UUIDModel
from tenants.enums import PlatformRole, PrincipalKind

ERASED_AT = "@erased.invalid"
"""The end of the address of one who is erased: it names nobody and can receive nothing (RFC 2606)."""


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, *, full_name: str = "") -> User:
        """A person who may sign in. The address is kept in lower case, so that it names one person."""
        user = self.model(email=email.strip().lower(), full_name=full_name)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").strip().lower())


class User(UUIDModel, AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    full_name = models.CharField(max_length=120)
    time_zone = models.CharField(max_length=60, default="UTC")
    platform_role = models.CharField(max_length=20, choices=PlatformRole.choices, blank=True)
    kind = models.CharField(max_length=10, choices=PrincipalKind.choices, default=PrincipalKind.PERSON)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["full_name"]

    objects: ClassVar[UserManager] = UserManager()

    def __str__(self) -> str:
        return self.email

    @property
    def is_staff(self) -> bool:
        return bool(self.platform_role)

    @property
    def is_erased(self) -> bool:
        return self.email.endswith(ERASED_AT)

    @property
    def label(self) -> str:
        """How lists of the API name a principal: a person by the address, a service account by its name."""
        return self.email if self.kind == PrincipalKind.PERSON else self.full_name

    @property
    def initials(self) -> str:
        words = self.full_name.split() or [self.email]
        return "".join(word[0].upper() for word in (words[0], words[-1])[: len(words)])
