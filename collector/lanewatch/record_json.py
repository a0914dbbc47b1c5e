"""Records as JSON, whatever is in them."""

import json
from typing import Any

import msgspec

encoder = msgspec.json.Encoder(enc_hook=lambda value: f"<{type(value).__name__}>")


def encode(value: Any) -> bytes:
    """JSON of anything in a record. A lone surrogate, which UTF-8 can't hold, is written as its JSON escape."""
    try:
        return encoder.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=encoder.enc_hook)
        return json.dumps(plain, ensure_ascii=True).encode()
