"""Which language a text is in."""

import pytest
from lanewatch.monitors.judge.languages import in_another_language, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The refund is paid to the card within five days.", "en"),
        ("Die Erstattung wird nicht auf das Konto gezahlt.", "de"),
        ("Le remboursement est versé dans les cinq jours.", "fr"),
        ("El reembolso se paga en la tarjeta y no en efectivo.", "es"),
        ("Il rimborso non è pagato con la carta.", "it"),
        ("O reembolso não é pago em dinheiro, mas no cartão da loja.", "pt"),
        ("De terugbetaling wordt niet op het account gezet.", "nl"),
        ("返金はカードに支払われます。", "ja"),
        ("退款将在五天内支付到 Visa 卡。", "zh"),
        ("환불은 5일 이내에 지급됩니다.", "ko"),
        ("Возврат средств занимает пять дней.", "ru"),
        ("42 EUR", None),
        ("Acme AB-12", None),
    ],
)
def test_function_words_and_scripts_tell_a_language(text: str, language: str | None) -> None:
    """A text without function words is of no language that could be told."""
    assert language_of(text) == language


def test_another_language_is_only_one_that_can_be_told() -> None:
    """A table of figures is in no language, and one context of several is enough."""
    german, english = "Die Erstattung wird nicht gezahlt.", "The refund is not paid."

    assert in_another_language(english, [german, german])
    assert not in_another_language(english, [german, english])
    assert not in_another_language(english, [german, "42 EUR"])
    assert not in_another_language("42 EUR", [german])
