"""What the user laid down for verdicts, as the monitors take it: the registry of tools, and which of them retrieve."""

import msgspec

from lanewatch.adapters import tool_retrievals
from lanewatch.adapters.identity import fold
from lanewatch.adapters.tool_retrievals import Retriever
from lanewatch.config_keys import Config
from lanewatch.config_tools import RetrieverEntry, ToolEntry
from lanewatch.monitors.contracts import Contract, Rule, place_of
from lanewatch.monitors.tools import UNREGISTERED, ErrorShape, Registry, Risk, Tool


class Rules(msgspec.Struct, frozen=True):
    """Everything that turns records into verdicts beyond what is built in. `retrievers` are by folded name."""

    registry: Registry = UNREGISTERED
    retrievers: dict[str, Retriever] = {}


NO_RULES = Rules()


def rules_of(config: Config) -> Rules:
    """The rules of a checked configuration."""
    retrievers = tool_retrievals.retrievers(filter(None, config.retrieval.tools.split(",")))
    for name, entry in config.tools.items():
        if entry.retriever is not None:
            retrievers |= dict.fromkeys(map(fold, (name, *entry.aliases)), _retriever(entry.retriever))
    return Rules(Registry(_tool(name, entry) for name, entry in config.tools.items()), retrievers)


def summary(config: Config) -> list[str]:
    """What a person sees of the rules: how many there are, and the version that records carry. Empty without any."""
    tools = len(config.tools)
    version = rules_of(config).registry.version
    return [f"Registry: {tools} tool{'' if tools == 1 else 's'}, version {version}."] if tools else []


def _tool(name: str, entry: ToolEntry) -> Tool:
    rules = {place_of(path): Rule(rule) for path, rule in entry.normalise.items()}
    rules |= {place_of(path): Rule.VOLATILE for path in entry.volatile}
    return Tool(
        name=name,
        aliases=entry.aliases,
        arguments=entry.arguments,
        result=entry.result,
        risk=None if entry.risk is None else Risk(entry.risk),
        owner=entry.owner,
        contract=Contract(rules),
        sensitive=tuple(place_of(path) for path in entry.sensitive),
        errors=tuple(ErrorShape(place_of(error.path), error.values) for error in entry.errors),
    )


def _retriever(entry: RetrieverEntry | bool) -> Retriever:
    if isinstance(entry, bool):
        return tool_retrievals.AS_USUAL
    query, documents = (tuple(keys.split(".")) if keys else None for keys in (entry.query, entry.documents))
    return Retriever(query, documents)
