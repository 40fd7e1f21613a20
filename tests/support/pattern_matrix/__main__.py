"""`python -m tests.support.pattern_matrix`: writes the transcripts; with `kernel`, `batch` or `spark` runs them that way too.

python -m tests.support.pattern_matrix                   the files in tests/transcripts/pattern_matrix
python -m tests.support.pattern_matrix kernel            all cells, without a query
python -m tests.support.pattern_matrix spark "killed"    cells whose name has the text, through Spark
"""

from __future__ import annotations

import sys

from tests.support.matrix.__main__ import main, write
from tests.support.pattern_matrix.runs import PATTERNS
from tests.support.pattern_matrix.writing import texts

if __name__ == "__main__":
    write(texts())
    sys.exit(main(PATTERNS, sys.argv[1:]))
