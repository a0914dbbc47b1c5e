"""Documents that must have been retrieved, by their ids: a refund is decided by policy P-104.

It says that a document was in what was retrieved, and nothing of whether the answer used it, or used it rightly.
"""

import msgspec

from lanewatch.adapters.records import Evidence
from lanewatch.monitors.policies.case import KEPT, Case, Ruling, ruling
from lanewatch.monitors.verdicts import Status


class Documents(msgspec.Struct, frozen=True, tag=True):
    """All of these `ids`; with `when`, before the first run of one of these tools, and only where one ran."""

    ids: tuple[str, ...]
    when: tuple[str, ...] = ()

    def judge(self, case: Case) -> Ruling:
        """A retrieval that is not seen, or documents without ids, may have had the document: incomplete then."""
        record = case.record
        runs = case.runs(self.when)
        if self.when and not runs:
            return Ruling(Status.NOT_APPLICABLE, "not_run") if case.countable else case.unseen()
        until = min((run.start_ns for run in runs), default=None)
        found = [r for r in record.retrievals if until is None or r.end_ns <= until]
        ids = {document.id for retrieval in found for document in retrieval.documents}
        if ids.issuperset(self.ids):
            return KEPT
        if record.evidence["retrievals"] is not Evidence.COMPLETE or record.unread or not record.complete:
            return Ruling(Status.INCOMPLETE, f"retrievals_{record.evidence['retrievals']}")
        if not record.retrievals:
            return Ruling(Status.INCOMPLETE, "no_retrieval_seen")
        if None in ids:
            return Ruling(Status.INCOMPLETE, "documents_without_ids")
        return ruling(Status.FAIL, "document_missing", runs)
