"""Units and scales as texts write them, and what each is of a base unit of its kind; currencies by their ISO 4217 codes.

A unit that is not here is no unit: the number before it is compared as a bare number. Case decides where it is the case that
tells two units apart (`MB` and `mb`, `M` and `m`), so symbols are looked up as they stand and words folded.
"""

from decimal import Decimal

# (kind, how many base units). Base units: second, month, metre, gram, byte, litre, kelvin-like degree, watt ...
_SYMBOLS: dict[str, tuple[str, str]] = {
    "s": ("time", "1"), "sec": ("time", "1"), "ms": ("time", "0.001"), "min": ("time", "60"), "h": ("time", "3600"),
    "hr": ("time", "3600"), "hrs": ("time", "3600"), "mins": ("time", "60"), "secs": ("time", "1"), "d": ("time", "86400"),
    "mm": ("length", "0.001"), "cm": ("length", "0.01"), "m": ("length", "1"), "km": ("length", "1000"),
    "in": ("length", "0.0254"), "ft": ("length", "0.3048"), "yd": ("length", "0.9144"), "mi": ("length", "1609.344"),
    "mg": ("mass", "0.001"), "g": ("mass", "1"), "kg": ("mass", "1000"), "t": ("mass", "1000000"),
    "lb": ("mass", "453.59237"), "lbs": ("mass", "453.59237"), "oz": ("mass", "28.349523125"),
    "B": ("data", "1"), "KB": ("data", "1000"), "kB": ("data", "1000"), "MB": ("data", "1000000"),
    "GB": ("data", "1000000000"), "TB": ("data", "1000000000000"), "PB": ("data", "1000000000000000"),
    "KiB": ("data", "1024"), "MiB": ("data", "1048576"), "GiB": ("data", "1073741824"), "TiB": ("data", "1099511627776"),
    "ml": ("volume", "0.001"), "mL": ("volume", "0.001"), "cl": ("volume", "0.01"), "l": ("volume", "1"),
    "L": ("volume", "1"), "\u00b0C": ("celsius", "1"), "\u2103": ("celsius", "1"), "\u00b0F": ("fahrenheit", "1"),
    "K": ("kelvin", "1"), "W": ("power", "1"), "kW": ("power", "1000"), "MW": ("power", "1000000"),
    "GW": ("power", "1000000000"), "Wh": ("energy", "1"), "kWh": ("energy", "1000"), "MWh": ("energy", "1000000"),
    "V": ("voltage", "1"), "A": ("current", "1"), "mAh": ("charge", "1"), "Hz": ("frequency", "1"),
    "kHz": ("frequency", "1000"), "MHz": ("frequency", "1000000"), "GHz": ("frequency", "1000000000"),
    "km/h": ("speed", "1"), "kph": ("speed", "1"), "mph": ("speed", "1.609344"), "m/s": ("speed", "3.6"),
    "m\u00b2": ("area", "1"), "km\u00b2": ("area", "1000000"), "ha": ("area", "10000"), "m\u00b3": ("volume", "1000"),
    "bar": ("pressure", "1"), "psi": ("pressure", "0.0689475729"), "px": ("pixel", "1"),
}  # fmt: skip
# Written out, in the languages that `languages.py` knows function words of, and in Japanese and Chinese.
_WORDS: dict[tuple[str, str], str] = {
    ("time", "0.001"): "millisecond milliseconds millisekunden millisecondes milisegundos",
    ("time", "1"): "second seconds sekunde sekunden seconde secondes segundo segundos secondi seconden \u79d2",
    ("time", "60"): "minute minutes minuten minuto minutos minuti minuut \u5206 \u5206\u949f \u5206\u9418 \u5206\u9593",
    ("time", "3600"): "hour hours stunde stunden heure heures hora horas ora ore uur"
    " \u6642\u9593 \u65f6\u95f4 \u5c0f\u65f6 \u5c0f\u6642",
    ("time", "86400"): "day days tag tage tagen jour jours d\u00eda d\u00edas giorno giorni dia dias dag dagen"
    " \u65e5 \u65e5\u9593 \u5929",
    ("time", "604800"): "week weeks woche wochen semaine semaines semana semanas settimana settimane weken"
    " \u9031\u9593 \u5468 \u661f\u671f",
    ("months", "1"): "month months monat monate monaten mois mes meses mese mesi maand maanden m\u00eas"
    " \u30f6\u6708 \u304b\u6708 \u30ab\u6708 \u4e2a\u6708",
    (
        "months",
        "12",
    ): "year years jahr jahre jahren an ans ann\u00e9e ann\u00e9es a\u00f1o a\u00f1os anno anni jaar ano anos"
    " \u5e74 \u5e74\u9593",
    ("length", "0.001"): "millimeter millimetre millimeters millimetres",
    ("length", "0.01"): "centimeter centimetre centimeters centimetres zentimeter",
    (
        "length",
        "1",
    ): "meter metre meters metres metern m\u00e8tre m\u00e8tres metro metros metri \u30e1\u30fc\u30c8\u30eb",
    (
        "length",
        "1000",
    ): "kilometer kilometre kilometers kilometres kilometern kilom\u00e8tres kil\u00f3metros \u30ad\u30ed",
    ("length", "0.0254"): "inch inches",
    ("length", "0.3048"): "foot feet",
    ("length", "1609.344"): "mile miles",
    ("mass", "0.001"): "milligram milligrams milligramm",
    ("mass", "1"): "gram grams gramm grammes gramos",
    ("mass", "1000"): "kilogram kilograms kilogramm kilo kilos",
    ("mass", "1000000"): "tonne tonnes ton tons tonnen toneladas",
    ("mass", "28.349523125"): "ounce ounces",
    ("data", "1"): "byte bytes",
    ("data", "1000"): "kilobyte kilobytes",
    ("data", "1000000"): "megabyte megabytes",
    ("data", "1000000000"): "gigabyte gigabytes",
    ("data", "1000000000000"): "terabyte terabytes",
    ("volume", "1"): "liter litre liters litres litern litro litros",
    ("volume", "0.001"): "milliliter millilitre milliliters millilitres",
    ("celsius", "1"): "celsius",
    ("fahrenheit", "1"): "fahrenheit",
    ("power", "1"): "watt watts",
    ("power", "1000"): "kilowatt kilowatts",
    ("area", "10000"): "hectare hectares hektar",
    ("pixel", "1"): "pixel pixels",
    ("%", "1"): "percent prozent porcentaje procent",
}
UNITS: dict[str, tuple[str, Decimal]] = {symbol: (kind, Decimal(size)) for symbol, (kind, size) in _SYMBOLS.items()}
UNITS |= {word: (kind, Decimal(size)) for (kind, size), words in _WORDS.items() for word in words.split()}
PERCENT = "%"

_CODES = "USD EUR GBP JPY CHF CNY INR AUD CAD NZD SEK NOK DKK PLN CZK HUF BRL MXN KRW SGD HKD ZAR"
CURRENCIES: dict[str, str] = {
    "$": "$", "US$": "USD", "A$": "AUD", "C$": "CAD", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a5": "JPY", "\u20b9": "INR",
    "\u20a9": "KRW", "\u5186": "JPY", "\u5143": "CNY", "dollar": "$", "dollars": "$", "d\u00f3lares": "$", "euro": "EUR",
    "euros": "EUR", "yen": "JPY", "rupees": "INR", "yuan": "CNY", "sterling": "GBP",
    **{code: code for code in _CODES.split()},
}  # fmt: skip

# Multipliers. "billion" is 10^9 in English alone; German and French use "milliard" for that.
_ENGLISH = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "bn": 9, "mn": 6}
_LONG = {
    "tausend": 3, "million": 6, "millionen": 6, "milliarde": 9, "milliarden": 9, "billion": 12, "billionen": 12,
    "mille": 3, "millions": 6, "milliard": 9, "milliards": 9, "mil": 3, "mill\u00f3n": 6, "millones": 6, "milioni": 6,
    "miliardi": 9, "miljoen": 6, "miljard": 9, "milh\u00f5es": 6, "mio": 6, "mrd": 9,
}  # fmt: skip
_IDEOGRAPHS = {"\u5343": 3, "\u4e07": 4, "\u842c": 4, "\u5104": 8, "\u4ebf": 8}


def scale_of(word: str, language: str | None) -> int:
    """The power of ten of a multiplier, 0 where the word is none.

    >>> scale_of("billion", "en"), scale_of("Billion", "de")
    (9, 12)
    """
    folded = word.casefold().rstrip(".")
    if folded in _IDEOGRAPHS:
        return _IDEOGRAPHS[folded]
    first, second = (_ENGLISH, _LONG) if language in {"en", None} else (_LONG, _ENGLISH)
    return first.get(folded, second.get(folded, 0))


def unit_of(word: str) -> tuple[str, Decimal] | None:
    """(kind, base units) of a unit as it stands in a text; None where it is none."""
    found = UNITS.get(word)
    return UNITS.get(word.casefold()) if found is None and len(word) > 2 else found  # noqa: PLR2004 - symbols keep case


def same_currency(one: str, other: str) -> bool:
    """Whether two amounts are of one currency; a bare dollar sign may be any country's dollar."""
    return one == other or (one == "$" and other.endswith("D")) or (other == "$" and one.endswith("D"))
