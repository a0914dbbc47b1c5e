"""What each convention carries, field by field: the table of docs/conventions.md, and what a reader may hope for.

`never` is what a convention has no place for, whatever its switches; with content capture off even `yes` is absent.
"""

from enum import StrEnum

import msgspec


class Carried(StrEnum):
    """How far a convention carries a field."""

    YES = "yes"
    PARTLY = "partly"  # by some of its emitters, releases or kinds of span
    NEVER = "never"


FIELDS = (
    "call_id",  # of a tool's run, whether an attribute or recovered from a payload or parent
    "arguments",
    "result",
    "documents",  # contents of retrieved documents
    "document_ids",
    "scores",
    "session",
    "usage",
    "refusal",  # as the API marks it, beyond the text of the answer
    "tools",  # whoever writes these spans also writes one for each tool that runs
)
MARKS = {"y": Carried.YES, "p": Carried.PARTLY, "-": Carried.NEVER}


class Row(msgspec.Struct, frozen=True):
    """One convention: a mark for each of FIELDS in order (y, p, -), and the quirk that decides most."""

    marks: str
    note: str

    @property
    def fields(self) -> dict[str, Carried]:
        """The marks by field."""
        return {field: MARKS[mark] for field, mark in zip(FIELDS, self.marks, strict=True)}


#                  id args result | documents ids scores | session usage refusal tools
CARRIED: dict[str, Row] = {
    "openinference": Row(
        "pyyypppypp", "Ids stand in payloads and parents; a TOOL span is written for refused calls too."
    ),
    "traceloop": Row("pyyypppypp", "LangChain's arguments and ids are inside a dump of its callback."),
    "otel_genai": Row("pppppppy-p", "All content is off by default; documents need not have content."),
    "openai_agents_v2": Row("-pp---py-p", "Calls are reprs in text parts, and missing beside a text."),
    "generic": Row("pppppppp--", "GenAI keys without an operation: a tool's name alone proves no run."),
    "langfuse": Row("pyyyppyypp", "Ids in metadata or in the tool's message; `@observe` functions have none."),
    "langsmith": Row("pyyyppyypp", "Whole inputs and outputs of runs; ids and scores in metadata."),
    "mlflow": Row("pyyypppypp", "Traced functions have no id."),
    "litellm": Row("------pyp-", "A gateway sees requests and answers, never a tool's body."),
    "logfire": Row("pyy---pypp", "Scrubbed words hide values; pending spans are passed over."),
    "google_adk": Row(
        "ypp---yy-y", "Its model span is written before ids are assigned; unknown arguments are dropped."
    ),
    "strands": Row("yyy---yy-y", "Each message is on chat, cycle and agent; an error's result may be missing."),
    "pydantic_ai": Row(
        "yyy---yypy",
        "A failed validation is a span that never ran, a ModelRetry a run that failed; output functions look like tools.",
    ),
    "vercel": Row("yyy---pypy", "No span for client-side tools and for calls that break the schema."),
    "agent_framework": Row("yyy---py-y", "Tools are listed on the agent alone; empty arguments are the text `None`."),
    "semantic_kernel": Row("yyy----y-y", "Every kernel function is a span; without an id no model asked for it."),
    "autogen": Row("p--------y", "Runs by name and id alone; model calls come from elsewhere."),
    "crewai": Row("-yyp--py-y", "Names are sanitised; results may come from a cache; knowledge is one text."),
    "llama_index": Row("-y-yyy--pp", "Everything is in span events; workflow agents' tools emit none."),
    "haystack": Row("pyyyyy-y-y", "Only an approval's span has the id; a tool's error is a tag."),
    "trulens": Row("-ppy--pypp", "Tools are methods; contexts are texts alone."),
    "openlit": Row(
        "pyypp-pypp", "Ids are run ids until the tool's message brings the model's; three documents are shown."
    ),
    "azure": Row("ppp---yyp-", "Server-side agents; functions run in the application, unseen."),
    "mcp": Row("-pp---p--y", "All layers of one dispatch; a client can't see whether the server ran it."),
    "vector_db": Row(
        "---pyy----", "Ids and distances, the query's text from OpenLIT alone; completes the retriever around it."
    ),
    "claude_code": Row("ppp---yy-y", "A model's output is its text alone."),
    "gemini_cli": Row("ppp---py-y", "One message a chunk."),
    "genkit": Row("pyyyp-pppy", "Input and output of every action, as JSON."),
    "livekit": Row("pyy---pp-y", "Calls stand beside the text of an answer."),
    "laminar": Row("-yy---pypp", "Its model spans are read as OpenLLMetry's."),
    "voltagent": Row("pyy---yp-y", "Children inherit the agent's kind; a model's output is its text alone."),
    "spring_ai": Row("-yypp-ppp-", "Prompts and completions are text events."),
    "flue": Row("pyy---pp-y", "Turns and tools by keys of its own."),
}
