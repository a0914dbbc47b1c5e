"""German: rules about sentences in lower case."""

import re

from lanewatch.adapters.dispositions.rules import Language, abstained, answered, refused

_WE = r"\b(?:ich|wir)\b"
_NOT = r"\b(?:nicht|kein|keine|keinen|keiner|keinerlei|nie|niemals|nee|nein|nichts)\b"
_MODAL = r"\b(?:kann|können|darf|dürfen|werde|werden|möchte|möchten|will|wollen|mag)\b"
_HELP = (
    r"\b(?:helfen|weiterhelfen|behilflich|unterstützen|mitmachen|mitwirken|beantworten|äußern|beraten|(?:weiter|heraus|preis)geben"
    r"|auskunft|auskünfte|beratung|leisten|erteilen|verraten|offenlegen|dienen|diskutieren|besprechen|liefern|bereitstellen|anleitung(?:en)?\b.{0,60}\b(?:geben|schreiben|erstellen)"
    r"|(?:das|dies|sowas|so etwas|so was) (?:\w+ ){0,5}(?:tun|machen|schreiben|erstellen|erledigen))\b"
)
_TEXTS = (
    r"(?:dokument(?:e|en|s|ation)?|unterlagen?|kontext|text(?:es|e|stellen)?|abschnitt(?:e|en)?|artikel|handbuch|quellen?"
    r"|datei(?:en)?|wissensdatenbank|notizen|auszügen?|suchergebniss?e?n?|material(?:ien)?|protokoll|anleitung|wiki|pdf)"
)
_INFORMATION = r"(?:information(?:en)?|angaben?|hinweise?|auskunft|treffer|ergebnisse?|eintr(?:ag|äge)|erwähnung|daten)"

LANGUAGE = Language(
    "de",
    ("nicht", "kein", "nichts", "nix", "ablehn", "lehne", "verstößt", "verstoßen", "untersagt", "lieber", "keine ahnung", "nur fragen"),
    (
        abstained(
            "texts_lack", "de", rf"\b{_TEXTS}\b",
            r"\b(?:enthält|enthalten|erwähnt|erwähnen|nennt|nennen|steht|findet sich|finden sich|sagt|sagen|geht|gibt"
            r"|geben|beschreibt|behandelt|entnehmen|hervor|liefert|liefern|macht|machen)\b",
            r"\b(?:nicht|nichts|nix|kein|keine|keinen|keinerlei)\b",
            unless=(r"\bkönnen sie\b",),
        ),
        abstained("no_information", "de", rf"(?:^|\b(?:leider|sorry|ich|wir|habe?n?|dazu|darüber|konnten?)\b.{{0,60}})\bkeine?n? "
                  rf"(?:\w+ )?{_INFORMATION}\b", r"\b(?:gefunden|finden|vorhanden|verfügbar|vor|dazu|darüber|hierzu|zu|über|es gibt)\b",
                  unless=(r"\b(?:erteil\w+|weitergeben|geben|kunden)\b",)),
        abstained("not_found", "de", r"\b(?:nichts|nix)\b.{0,40}\b(?:gefunden|finden|steht)\b"),
        abstained(
            "cannot_tell_from_texts", "de", rf"\b(?:{_TEXTS}|informationen|angaben)\b", r"\b(?:nicht|unmöglich)\b",
            r"\b(?:beantworte[nt]|beantwortet|bestimm(?:en|t)|ermitteln|sagen|feststellen|ableiten|ersichtlich|hervor)\b",
        ),
        abstained("does_not_know", "de", r"^(?:(?:das|leider|sorry,?) )*(?:weiß ich (?:leider )?nicht|ich weiß (?:es|das) (?:leider )?nicht)$"
                  r"|^keine ahnung\b"),
        refused("unable_to_help", "de", _WE, _MODAL, _NOT, _HELP, unless=(r"\bsie (?:können|dürfen)\b",)),
        refused("declines", "de", _WE, r"\b(?:muss|müssen|möchte|möchten|werde|werden)\b.{0,80}\b(?:ablehnen|zurückweisen|verweigern)\b"),
        refused("declines", "de", r"\b(?:lehne|lehnen|verweigere|verweigern) (?:ich|wir)\b|\b(?:ich|wir) (?:lehne|lehnen|verweigere) "),
        refused("limited_to", "de", r"\b(?:ich|wir)\b.{0,20}\bnur fragen\b|\bbeantworte\b.{0,20}\bnur fragen\b"),
        refused("not_permitted", "de", r"\b(?:mir|uns)\b.{0,20}\bnicht\b.{0,10}\b(?:gestattet|erlaubt|möglich)\b|\b(?:ist|wurde) "
                r"(?:es )?(?:mir|uns) (?:leider )?(?:nicht (?:gestattet|erlaubt|möglich)|untersagt)\b",
                unless=(rf"\b{_TEXTS}\b|\b(?:gefunden|finden|aufzurufen|abzurufen|zuzugreifen|ermitteln)\b",)),
        refused("not_permitted", "de", r"\b(?:nicht|keine) (?:\w+ ){0,3}(?:befugt|berechtigt|autorisiert)\b", _WE),
        refused("policy", "de", r"\bverst(?:ößt|oßen|oße) (?:\w+ )?gegen (?:unsere|meine|die geltenden) (?:[\w-]*richtlinien|regeln|vorgaben|grundsätze"
                r"|nutzungsbedingungen)\b"),
        refused("will_not", "de", r"\bmach(?:e|en)? (?:ich|wir) (?:da |hier |leider |lieber )?nicht(?: mit)?$|\bda mach(?:e|en)? (?:ich|wir) nicht mit\b"
                r"|\b(?:beantworte|schreibe?|äußere|diskutiere) ich (?:mich )?(?:leider |lieber |grundsätzlich )?nicht\b|\bäußere ich mich nicht\b"),
    ),
    re.compile(
        r"\b(?:bitte (?:nennen|geben|teilen|senden|schicken|laden|bestätigen)|könnten sie|können sie|kannst du|könntest du"
        r"|nennen sie|sobald|solange|es sei denn|ohne (?:ihre|deine|die|eine|einen))\b|\b(?:aber|jedoch|allerdings|hingegen|dafür|stattdessen)\b"
        r"(?! (?:ich|da|dabei|das|sowas|leider|hier|dazu|zu|wir)\b)|\b(?:fehler|technisch\w*|später|nicht erreichbar|störung|ausfall|system|gewartet|wartung|gerade|momentan|derzeit|server)\b"
    ),
    (
        answered("done", "de", r"^(?:alles )?(?:erledigt|fertig|gebucht|storniert|gespeichert)$"),
        answered("reports_action", "de", r"^(?:(?:alles klar|klar|gern|gerne|ok|ja|sicher|natürlich)[ ,:]{1,2}){0,2}(?:ich )?hab(?:e|en)?\b.{1,80}"
                 r"\b(?:gebucht|reserviert|verschoben|storniert|gesendet|geschickt|angelegt|erstellt|geändert|aktualisiert|gelöscht|eingetragen)$"),
        answered("reports_action", "de", r"^(?:ihre?|deine?|die|der|das) .{1,60}\b(?:wurden?|ist|sind)\b.{0,40}\b(?:storniert|veranlasst|gebucht|versandt"
                 r"|verschickt|bestätigt|geändert|aktualisiert|erstattet|unterwegs|aktiviert|verlängert)$"),
        answered("gives", "de", r"^(?:hier (?:ist|sind|kommt|kommen)|anbei)\b"),
    ),
    re.compile(r"\b(?:nicht|kein\w*|nie|nichts|nix|ohne|leider|aber|jedoch|allerdings|fehler|nur|teilweise|abgelehnt|verweigert|außer|statt)\b"),
    frozenset(["alles", "anbei", "das", "deine", "dein", "der", "die", "erledigt", "fertig", "gebucht", "gern", "gerne", "gespeichert", "hab", "habe", "haben", "hier", "ich", "ihr", "ihre", "ja", "klar", "natürlich", "ok", "sicher", "storniert"]),
)  # fmt: skip
