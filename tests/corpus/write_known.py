"""Writes the table of KNOWN.md from the corpus and known.toml: `python -m tests.corpus.write_known`."""

from tests.corpus.known import CORPUS, captures, known, page, read_reasons, verdicts

if __name__ == "__main__":
    path = CORPUS / "KNOWN.md"
    path.write_text(page(path.read_text(), known({one: verdicts(one) for one in captures()}, read_reasons())))
