"""What the user laid down for verdicts, as the monitors take it: the registry of tools, retrievers, policies, prices."""

import json
from hashlib import sha256

import msgspec

from lanewatch.adapters import tool_retrievals
from lanewatch.adapters.identity import fold
from lanewatch.adapters.tool_retrievals import Retriever
from lanewatch.config.keys import Config
from lanewatch.config.policies import (
    BudgetEntry,
    CallLimitEntry,
    DocumentsEntry,
    ForbiddenEntry,
    OrderEntry,
    PathsEntry,
    PolicyEntry,
)
from lanewatch.config.tools import RetrieverEntry, ToolEntry
from lanewatch.monitors import contracts
from lanewatch.monitors.contracts import Contract, place_of
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.policies import Budget, CallLimit, Documents, Forbidden, Order, Paths, Policy, Rule
from lanewatch.monitors.policies.case import Criticality, Scope
from lanewatch.monitors.redaction.tokens import key_of
from lanewatch.monitors.tools import UNREGISTERED, VERSION_LENGTH, ErrorShape, Registry, Risk, Tool
from lanewatch.monitors.verdicts import Lane


class Rules(msgspec.Struct, frozen=True):
    """Everything that turns records into verdicts beyond what is built in. `retrievers` are by folded name."""

    registry: Registry = UNREGISTERED
    retrievers: dict[str, Retriever] = {}
    policies: tuple[Policy, ...] = ()
    prices: dict[str, Price] = {}
    policy_version: str = ""  # a hash of policies and prices; empty where there are none


NO_RULES = Rules()


def rules_of(config: Config) -> Rules:
    """The rules of a checked configuration."""
    retrievers = tool_retrievals.retrievers(filter(None, config.retrieval.tools.split(",")))
    for name, entry in config.tools.items():
        if entry.retriever is not None:
            retrievers |= dict.fromkeys(map(fold, (name, *entry.aliases)), _retriever(entry.retriever))
    secret = config.redaction.key
    key = None if secret is None else key_of(secret.get_secret_value().encode())
    return Rules(
        Registry((_tool(name, entry) for name, entry in config.tools.items()), key),
        retrievers,
        tuple(_policy(entry) for entry in config.policies),
        {model: Price(entry.input, entry.output) for model, entry in config.prices.items()},
        _policy_version(config),
    )


def summary(config: Config) -> list[str]:
    """What a person sees of the rules: how many there are, and the version that records carry. Empty without any."""
    rules = rules_of(config)
    tools, policies = len(rules.registry.tools), len(rules.policies)
    lines = [f"Registry: {tools} tool{'' if tools == 1 else 's'}, version {rules.registry.version}."] if tools else []
    if policies:
        lines.append(f"Policies: {policies} polic{'y' if policies == 1 else 'ies'}, version {rules.policy_version}.")
    return lines


def _tool(name: str, entry: ToolEntry) -> Tool:
    rules = {place_of(path): contracts.Rule(rule) for path, rule in entry.normalise.items()}
    rules |= {place_of(path): contracts.Rule.VOLATILE for path in entry.volatile}
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


def _policy(entry: PolicyEntry) -> Policy:
    lane, criticality = Lane(entry.lane), Criticality(entry.criticality)
    return Policy(entry.name, entry.requirement, lane, entry.owner, _rule(entry), criticality, entry.services)


def _rule(entry: PolicyEntry) -> Rule:
    match entry:
        case ForbiddenEntry():
            return Forbidden(entry.tools, entry.unless)
        case OrderEntry():
            return Order(entry.before, entry.after, entry.same, Scope(entry.per))
        case CallLimitEntry():
            return CallLimit(entry.tools, entry.at_most, Scope(entry.per))
        case PathsEntry():
            return Paths(entry.any_of, entry.when)
        case DocumentsEntry():
            return Documents(entry.ids, entry.when)
        case BudgetEntry():
            return Budget(entry.fact, entry.at_most, Scope(entry.per))
    raise AssertionError(entry.kind)


def _policy_version(config: Config) -> str:
    if not config.policies and not config.prices:
        return ""
    policies = sorted((entry.model_dump(mode="json") for entry in config.policies), key=lambda one: str(one["name"]))
    prices = {model: entry.model_dump() for model, entry in config.prices.items()}
    return sha256(json.dumps([policies, prices], sort_keys=True).encode()).hexdigest()[:VERSION_LENGTH]


def _retriever(entry: RetrieverEntry | bool) -> Retriever:
    if isinstance(entry, bool):
        return tool_retrievals.AS_USUAL
    query, documents = (tuple(keys.split(".")) if keys else None for keys in (entry.query, entry.documents))
    return Retriever(query, documents)
