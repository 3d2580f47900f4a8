"""Commands as people type them."""

from __future__ import annotations

import pytest

from portal.web.workloads.commands import Unreadable, shown, surprise, typed, words_of


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ()),
            ("  \n ", ()),
            ("python train.py --epochs 3", ("python", "train.py", "--epochs", "3")),
            ("python -c 'print(1); print(2)'", ("python", "-c", "print(1); print(2)")),
            ('echo "a b" c\\ d ""', ("echo", "a b", "c d", "")),
            ("torchrun \\\r\n  --nnodes 2 \\\n  train.py\r\n", ("torchrun", "--nnodes", "2", "train.py")),
            ("sh -c 'first\nsecond'", ("sh", "-c", "first\nsecond")),
            ("\n\npython run.py\n\n", ("python", "run.py")),
            ("entraîne --été 数据 😀", ("entraîne", "--été", "数据", "😀")),
            ("echo # no comment", ("echo", "#", "no", "comment")),
            ("python run.py \\", ("python", "run.py")),
        ],
    )
    def test_are_read_as_they_are_typed(self, text, words):
        assert words_of(text) == words

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("echo 'a", "A quote is opened and not closed."),
            ("it's done\nand more", "A quote is opened and not closed."),
            ("python one.py\npython two.py\n", "These are 2 commands."),
        ],
    )
    def test_that_cannot_be_read_say_why(self, text, says):
        with pytest.raises(Unreadable, match=says):
            words_of(text)

    @pytest.mark.parametrize("words", [("a b", "", "it's", "\n", "$HOME", "é")])
    def test_come_back_from_the_line_that_is_typed_for_them(self, words):
        assert words_of(typed(words)) == words

    def test_are_cut_for_the_eye(self):
        words, left_out = shown(("x" * 200, *("y",) * 60))

        assert (len(words[0]), len(words), left_out) == (120, 40, 21)

    @pytest.mark.parametrize(
        ("text", "marked"),
        [
            ("python a.py && python b.py", "“&&”"),
            ("python a.py > log 2>&1", "“>”"),
            ("cd /data; ls", "“/data;”"),
            ("echo $HOME", "“$HOME”"),
            ("cat *.txt", "“*.txt”"),
            ("sh -c 'a && b'", ""),
            ("/bin/bash -c 'echo $HOME'", ""),
            ("python -c 'print(1); print(2);'", ""),
            ("python train.py --lr 0.1", ""),
        ],
    )
    def test_that_only_a_shell_would_read_are_pointed_at(self, text, marked):
        said = surprise(words_of(text))

        assert (marked in said) if marked else said == ""
