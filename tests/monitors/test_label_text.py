"""Names as label values."""

from lanewatch.monitors.label_text import LABEL_LENGTH, label_text


def test_a_secret_is_hidden_before_the_name_is_cut() -> None:
    """Half of a key would be no key to any rule, and would stay."""
    name = "x" * (LABEL_LENGTH - 12) + " sk-proj-" + "a1B2c3D4" * 4

    assert "sk-" not in label_text(name)
