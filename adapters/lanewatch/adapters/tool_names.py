"""Names of tools are bounded in length where they are read.

Models' APIs allow 64 characters. What is much longer is no name, and every comparison would pay for it: a thousand
requests beside three runs with names of a megabyte took 400 seconds.
"""

from hashlib import blake2b

NAME_LIMIT = 256  # characters
KEPT = 224  # of a longer name; the digest behind keeps names apart that begin alike


def bounded_name(name: str) -> str:
    """The name, or its beginning with a digest of the whole where it is longer than NAME_LIMIT."""
    if len(name) <= NAME_LIMIT:
        return name
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{name[:KEPT]}…{digest}"
