"""The examples of docs/use_from_python.md print what stands below them."""
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "use_from_python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", PAGE.read_text(), re.DOTALL)


def test_every_example_is_found():
    assert len(EXAMPLES) == PAGE.read_text().count("```python") >= 4


@pytest.mark.parametrize("code, output", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_prints_what_the_page_says(code, output, tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == re.sub(r"^    ", "", output, flags=re.MULTILINE)
