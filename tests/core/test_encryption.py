from __future__ import annotations

import pytest
from cryptography.fernet import Fernet

from core.encryption import Undecipherable, decrypted, encrypted, reencrypted


def key() -> str:
    return Fernet.generate_key().decode()


class TestEncryption:
    def test_what_is_stored_tells_nothing_and_comes_back(self):
        stored = encrypted("hush")

        assert "hush" not in stored
        assert decrypted(stored) == "hush"
        assert encrypted("hush") != stored

    def test_a_new_key_goes_in_front_and_the_former_one_still_reads(self, settings):
        former, new = key(), key()
        settings.FIELD_KEYS = [former]
        stored = encrypted("hush")

        settings.FIELD_KEYS = [new, former]
        assert decrypted(stored) == "hush"
        moved = reencrypted(stored)

        settings.FIELD_KEYS = [new]
        assert decrypted(moved) == "hush"
        with pytest.raises(Undecipherable):
            decrypted(stored)
        with pytest.raises(Undecipherable):
            reencrypted(stored)
