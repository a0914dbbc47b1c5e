"""Makes the evaluators that ask an endpoint, from a worker's means. All that ask the same endpoint share it, and its breaker."""

import msgspec

from lanewatch.monitors.embedding import EmbedderUnavailableError, local_embedder
from lanewatch.monitors.judge.endpoint import Endpoint, Limits, http_endpoint
from lanewatch.monitors.judge.entailment import EntailmentEvaluator
from lanewatch.monitors.judge.evaluators import Loaded, Means
from lanewatch.monitors.judge.ragas_llm import Embeds, by_embedder, by_endpoint, ragas_collections
from lanewatch.monitors.judge.ragas_metrics import RAGAS_VERSION, RagasEvaluator
from lanewatch.monitors.judge.ragas_recipes import RECIPES


def ragas_evaluator(means: Means) -> Loaded:
    """Ragas' metrics. Imports Ragas, which takes seconds: raises ImportError where it is not installed."""
    ragas_collections()
    endpoint = endpoint_of(means)
    embeds, embedding = _embeds(means)
    evaluator = RagasEvaluator(endpoint, embeds=embeds, topics=means.settings.topics)
    loaded = _loaded(evaluator, endpoint, f"{RAGAS_VERSION}/{evaluator.prompt_version}/{embedding}")
    embedding_by = frozenset(name for name, recipe in RECIPES.items() if recipe.embeds)
    return msgspec.structs.replace(loaded, embedding_model=embedding if embeds is not None else "", embeds=embedding_by)


def entailment_evaluator(means: Means) -> Loaded:
    """Claims, each held against the contexts by the model."""
    endpoint = endpoint_of(means)
    evaluator = EntailmentEvaluator(endpoint)
    return _loaded(evaluator, endpoint, evaluator.prompt_version)


def endpoint_of(means: Means) -> Endpoint | None:
    """The configured endpoint, made once; None where there is none. Raises ImportError, and ValueError for what can't be used."""
    settings = means.settings
    if not settings.endpoint:
        return None
    if "endpoint" not in means.made:
        means.made["endpoint"] = http_endpoint(
            settings.endpoint.base_url,
            settings.endpoint.api_key or "",
            settings.endpoint.model,
            means.journal,
            means.purse,
            embeddings_model=settings.endpoint.embeddings_model,
            limits=Limits(
                timeout_seconds=settings.asking.timeout_seconds,
                max_retries=settings.asking.max_retries,
                max_tokens=settings.asking.max_tokens,
            ),
            max_in_flight=settings.asking.max_in_flight,
            told=means.told,
        )
    endpoint: Endpoint = means.made["endpoint"]
    return endpoint


def _embeds(means: Means) -> tuple[Embeds | None, str]:
    """Who embeds, and by what: the endpoint's model, else the local one, else nobody."""
    model = means.settings.endpoint.embeddings_model
    if model:
        return by_endpoint, model
    try:
        embedder = local_embedder()
    except EmbedderUnavailableError:
        return None, "none"
    return by_embedder(embedder.embed), embedder.name


def _loaded(evaluator: RagasEvaluator | EntailmentEvaluator, endpoint: Endpoint | None, version: str) -> Loaded:
    if endpoint is None:
        return Loaded(evaluator, version=version)
    breaker = endpoint.breaker
    return Loaded(evaluator, endpoint.model, version, breaker.circuits, breaker.wait)
