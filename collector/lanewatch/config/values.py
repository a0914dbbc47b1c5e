"""What may stand in a setting: the types that the sections are made of, each with its words for whoever has to mend it."""

import ipaddress
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from lanewatch.config.wanted import Wanted

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40


def _address(host: str) -> str:
    """Refuse what looks like host:port or [host]; both would fail much later, at binding."""
    if ":" in host:
        ipaddress.ip_address(host)
    return host


def _token(secret: SecretStr) -> SecretStr:
    """Only what an HTTP header can carry: a token with a line end inside would never match anything."""
    token = secret.get_secret_value()
    if not (token and len(token) <= 4 * KIB and all("!" <= char <= "~" for char in token)):
        raise ValueError("not a token")
    return secret


Host = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.:%-]{1,253}$"),
    AfterValidator(_address),
    Wanted("an IP address or host name, without brackets and port"),
]
Port = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Bytes = Annotated[int, Field(ge=1, le=TIB)]
MessageBytes = Annotated[int, Field(ge=1, le=2 * GIB - 1)]  # gRPC counts a message's bytes in 31 bits
Seconds = Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)]
Token = Annotated[
    SecretStr, AfterValidator(_token), Wanted("1 to 4096 ASCII characters, with no spaces or line ends among them")
]

RedactionKey = Annotated[SecretStr, AfterValidator(_token), Field(min_length=16), Wanted("16 to 4096 ASCII characters")]


Names = Annotated[
    str,
    Field(pattern=r"^([A-Za-z0-9_.:-]{1,120}(,[A-Za-z0-9_.:-]{1,120}){0,19})?$"),
    Wanted("names, separated by commas"),
]


def _time_zone(name: str) -> str:
    """Refuse a zone that this system does not know: UTC in its place would be silently wrong."""
    if name != "UTC":
        try:
            ZoneInfo(name)
        except (OSError, KeyError):
            raise ValueError("not a time zone") from None
    return name


PathName = Annotated[
    str,
    Field(pattern=r"^[^\x00-\x1f]{0,4000}$"),
    Wanted("a path; empty for none, relative ones start from where it runs"),
]
TimeZone = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_+/-]{1,64}$"),
    AfterValidator(_time_zone),
    Wanted("UTC, or a name of the system's tz database such as Europe/Paris"),
]
FileName = Annotated[str, Field(max_length=4096), Wanted("the name of a file, or nothing")]


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can connect; a host name other than `localhost` is taken to be reachable."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
