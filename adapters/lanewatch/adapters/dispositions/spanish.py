"""Spanish: rules about sentences in lower case."""

import re

from lanewatch.adapters.dispositions.rules import Language, abstained, answered, refused

_CANNOT = (
    r"\bno (?:puedo|podemos|podré|podremos|debo|debemos|voy a|vamos a|quiero|estoy (?:autorizad[oa]|en condiciones)|estamos autorizad[oa]s"
    r"|(?:me|nos) (?:es|está|resulta) (?:posible|permitido))\b|\bprefiero no\b"
)
_HELP = (
    r"\b(?:ayudar\w*|asistir\w*|atender (?:su|tu|esta|esa)|responder (?:a )?(?:eso|esa|esta|ese)|revelar|divulgar|compartir|proporcionar|facilitar"
    r"|ofrecer|dar (?:esa|ese|información|instrucciones|consejos?)|escribir|redactar|crear|generar|hacer (?:eso|esto|ese)|hablar de|comentar"
    r"|opinar|participar|colaborar|asesorar|contestar|cumplir con (?:esa|esta|su|tu))\b"
)
_TEXTS = (
    r"(?:documentos?|documentación|contexto|textos?|pasajes?|fragmentos?|artículos?|manual|fuentes?|archivos?|base de conocimientos?|notas|resultados"
    r"|guía|pdf|wiki|información (?:proporcionada|disponible|facilitada))"
)

LANGUAGE = Language(
    "es",
    ("no ", "niego", "rechaz", "ningun", "ningún", "nada", "infringe", "contra ", "ni idea", "ni hablar", "solo puedo", "fuera de"),
    (
        abstained("texts_lack", "es", rf"\b{_TEXTS}\b.{{0,40}} no (?:lo |la |se |me )?(?:mencion|contien|indic|especific|dic|recog|inclu|aclar|habla|precis|aparec|sale|señal|describ"
                  r"|cubr|abord|detall|explic)\w*"),
        abstained("none_of_the_texts", "es", rf"\bning[uú]n[oa]? (?:de )?(?:l[oa]s )?(?:est[oa]s )?{_TEXTS}\b|\bno (?:sale|aparece|hay|figura|encontré|encontramos|he encontrado"
                  r"|hemos encontrado|encuentro|veo)\b.{0,20}\b(?:nada|información|ninguna|datos|mención|referencia|resultados)\b"),
        abstained("no_information", "es", r"\bno (?:dispongo|disponemos|tengo|tenemos|cuento|hay) (?:de |con )?(?:suficiente |la )?(?:información|datos|detalles)\b"),
        abstained("cannot_tell_from_texts", "es", rf"\b{_TEXTS}\b", r"\b(?:no|insuficiente)\b", r"\b(?:responder|determinar|saber|concluir|deducir|suficiente)\b"),
        abstained("does_not_know", "es", r"^(?:lo siento,? )?no (?:lo )?sé$|^ni idea\b"),
        refused("unable_to_help", "es", _CANNOT, _HELP, unless=(r"\bde más\b",)),
        refused("limited_to", "es", r"\bsolo (?:puedo|podemos) (?:responder|ayudar|hablar)\b.{0,20}\b(?:preguntas|sobre|con)\b"),
        refused("declines", "es", r"\bme niego a (?!creer)|\b(?:debo|tengo que|debemos|tenemos que) (?:rechazar|declinar|negarme|negarnos)\b|\bdeclino\b"),
        refused("will_not", "es", r"\bno (?:proporcionaré|daré|compartiré|revelaré|escribiré|ayudaré|responderé|hablaré)\b|\ben eso no te ayudo\b"),
        refused("policy", "es", r"\b(?:infringe\w*|viola\w*|incumple\w*|va (?:en )?contra(?: de)?|es contrari[oa] a) (?:de )?(?:nuestr[oa]s?|mis?) (?:\w+ )?(?:políticas?|normas|reglas|directrices"
                r"|principios|condiciones)\b"),
        refused("outside_scope", "es", r"\bfuera de (?:mis|mi|nuestras?|nuestro) (?:funciones|alcance|competencias?|ámbito|área)\b"),
    ),
    re.compile(
        r"\b(?:pero|sin embargo|no obstante|en cambio)\b(?! (?:no (?:puedo|podemos|me|estoy)|me niego|debo))|\bsin (?:su|tu|el|la|un|una)\b"
        r"|\b(?:podría|podrías|puede|puedes) (?:indicar|decir|dar|confirmar|proporcionar)\w*|\b(?:por favor|hasta que|a menos que)\b"
        r"|\b(?:error|técnic\w+|inténte\w+|más tarde|caíd[oa]|servidor|mantenimiento|no responde)\b|\baquí (?:tiene|tienes|está|están)\b"
    ),
    (
        answered("done", "es", r"^(?:hecho|listo|ya está)(?:, ya (?:te|le) \w+ .{1,40})?$"),
        answered("reports_action", "es", r"^(?:su|tu|sus|tus|el|la|los|las) .{1,60}\b(?:ha|han) (?:sido|quedado) (?:\w+ )?(?:cancelad|confirmad|enviad|reservad|modificad|actualizad|reembolsad"
                 r"|cread|activad)\w*"),
        answered("reports_action", "es", r"^(?:(?:claro|listo|perfecto|por supuesto)[ ,:!]{1,2})?(?:ya )?(?:(?:te|le|les) )?(?:he|hemos) (?:reservado|cancelado|enviado|creado|modificado|actualizado"
                 r"|añadido|eliminado|movido|cambiado)\b"),
        answered("gives", "es", r"^(?:claro[ ,:!]{1,2})?aquí (?:tiene|tienes|está|están|va|van)\b"),
    ),
    re.compile(r"\b(?:no|ningun[oa]?|ningún|nada|nunca|sin|pero|embargo|lamentablemente|error|salvo|solo|excepto|rechazad[oa])\b"),
    frozenset(["aquí", "claro", "el", "he", "hecho", "hemos", "la", "las", "le", "les", "listo", "los", "perfecto", "por", "su", "sus", "te", "tu", "tus", "ya"]),
)  # fmt: skip
