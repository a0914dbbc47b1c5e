"""Hiding what must not be stored or judged, so that hidden values still compare: `keys` and `tokens` make the stand-ins,
`secrets` finds what nobody declared, `redactor` puts both to work on values and records.
"""
