"""French: rules about sentences in lower case."""

import re

from lanewatch.adapters.dispositions.rules import Language, abstained, answered, refused

_CANNOT = (
    r"\b(?:je|nous|j') ?(?:ne |n')(?:peux|pouvons|puis|saurais|saurions|suis|sommes|vais|allons|souhaite|souhaitons|veux|voulons)\b"
    r"(?: malheureusement| absolument)?(?: pas)?|\bje (?:peux|vais|veux) (?:vraiment )?pas\b"
    r"|\bil ne (?:m'|nous )est (?:malheureusement )?pas (?:possible|permis)\b"
)
_HELP = (
    r"\b(?:aider|assister|accompagner|répondre|donner (?:suite|(?:de |des )?conseils?|cette|ces|d'avis|un avis|mon avis)|communiquer|divulguer|révéler|partager|fournir|transmettre"
    r"|rédiger|écrire|créer|produire|générer|faire (?:ça|cela|ce genre)|participer|accéder à (?:votre|cette) (?:demande|requête)"
    r"|discuter|parler de|conseiller|commenter|aide à)\b"
)
_TEXTS = (
    r"(?:documents?|documentation|contexte|textes?|passages?|extraits?|articles?|manuel|sources?|fichiers?|base de connaissances?"
    r"|notes|résultats|guide|doc|pdf|wiki|informations (?:fournies|disponibles))"
)

LANGUAGE = Language(
    "fr",
    (" pas", "ne ", "n'", "refus", "aucun", "rien", "décliner", "contraire", "préfère", "hors de"),
    (
        abstained(
            "texts_lack", "fr", rf"\b{_TEXTS}\b.{{0,40}} (?:ne |n')(?:l[ea']|en|y)? ?(?:\w+ ){{0,2}}?(?:mentionn|précis|indiqu|contien|parl|permet|dis|dit|donn"
            r"|évoqu|compren|fourni|trait|couvr|abord|compor)\w* ?(?:\w+ ){0,2}?(?:pas|rien|aucune?)\b",
        ),
        abstained("texts_lack", "fr", rf"\b{_TEXTS}\b.{{0,20}} (?:en |l')?(?:parle|dit|mentionne|précise|indique) (?:pas|rien)\b"),
        abstained("none_of_the_texts", "fr", rf"\baucune? (?:des|de ces|de vos) {_TEXTS}\b|\brien (?:dans|à ce sujet|là-dessus|sur)\b"),
        abstained(
            "no_information", "fr",
            r"\b(?:aucune?|pas (?:assez )?d[e']) ?(?:information|informations|mention|donnée|données|élément|éléments|document|documents|résultat|résultats"
            r"|réponse|référence|trace)\b",
            unless=(r"\b(?:ne|n')\b.{0,20}\b(?:communiqu|donner|fourni|divulgu|partag)\w*",),
        ),
        abstained("not_found", "fr", r"\b(?:je|nous|j') ?(?:ne |n')?(?:ai|avons) (?:pas|rien|malheureusement rien|malheureusement pas) (?:pu )?trouv\w+"),
        abstained("cannot_tell_from_texts", "fr", rf"\b{_TEXTS}\b", r"\b(?:pas|impossible|insuffisan\w+)\b",
                  r"\b(?:répondre|déterminer|savoir|conclure|établir|dire|déduire)\b"),
        abstained("does_not_know", "fr", r"^(?:désolée?,? )?je (?:ne )?sais pas$|^aucune idée\b"),
        refused("unable_to_help", "fr", _CANNOT, _HELP, unless=(r"\b(?:pouvons|peux) que\b|\bsaurai\w* trop\b|\bdavantage\b",)),
        refused("not_permitted", "fr", r"\b(?:je|nous) (?:ne )?(?:suis|sommes) pas (?:autorisée?s?|habilitée?s?|en mesure|en droit)\b",
                r"\b(?:partager|communiquer|divulguer|donner|fournir|répondre|discuter|aider|transmettre|révéler)\b"),
        refused("declines", "fr", r"\bje (?:me vois|dois|suis (?:dans l'obligation|obligée?|contrainte?|contraint)) (?:de |d')?(?:malheureusement )?"
                r"(?:contrainte? de )?(?:décliner|refuser)\b|\b(?:je|nous) (?:refuse(?! de croire)|refusons|décline|déclinons)\b"
                r"|\bje préfère(?:rais)? (?:ne )?pas\b|\bpas question que je\b"),
        refused("policy", "fr", r"\b(?:contraires?|contrevien\w+|enfrei\w+|viole\w*) (?:à |aux )?(?:nos|mes|notre|ma) (?:[\w']+ ){0,2}?(?:conditions|politiques?|règles"
                r"|directives|principes|consignes)\b"),
        refused("outside_scope", "fr", r"\b(?:ne relève(?:nt)? pas|sort(?:ent)?|dépasse(?:nt)?|hors) (?:de )?(?:mes|mon|nos|notre) (?:attributions?|cadre|compétences?|domaine"
                r"|périmètre|fonctions?|rôle)\b"),
    ),
    re.compile(
        r"\b(?:mais|cependant|toutefois|en revanche|par contre)\b(?! (?:je|nous) ne\b| j'?(?:e|ai) (?:ne|rien|pas)| je (?:peux|vais|préfère) pas)"
        r"|\bsans (?:votre|ton|un|une|le|la)\b|\b(?:pourriez|pouvez|peux)-(?:vous|tu)\b|\bveuillez\b|\b(?:tant que|dès que)\b"
        r"|\b(?:erreur|technique|réessayer|indisponible|panne|serveur|maintenance|actuellement|répond pas)\b|\bvoici\b"
    ),
    (
        answered("done", "fr", r"^(?:c'est (?:fait|bon|réservé)|fait|terminé)\b.{0,40}$"),
        answered("reports_action", "fr", r"^(?:votre|vos|ton|ta|tes|le|la|les) .{1,60}\b(?:a|ont) (?:bien )?été (?:\w+ )?(?:expédié|résilié|annulé|confirmé|réservé|modifié"
                 r"|remboursé|envoyé|mis à jour|créé|déplacé|activé|prolongé)\w*"),
        answered("reports_action", "fr", r"^(?:(?:bien sûr|d'accord|ok|parfait)[ ,:!]{1,2})?j'ai (?:bien )?(?:réservé|annulé|envoyé|créé|modifié|déplacé|mis à jour|ajouté|supprimé)\b"),
        answered("gives", "fr", r"^(?:bien sûr[ ,:!]{1,2})?voici\b"),
    ),
    re.compile(r"\b(?:pas|ne|aucune?|rien|jamais|sans|mais|cependant|toutefois|malheureusement|erreur|refus\w*|sauf|seulement|échou\w*)\b|\bn'"),
    frozenset(["bien", "c'est", "d'accord", "fait", "j'ai", "la", "le", "les", "ok", "parfait", "ta", "terminé", "tes", "ton", "voici", "vos", "votre"]),
)  # fmt: skip
