"""SciPy's tests of its own splu and spsolve, on lulab."""
import pathlib
import subprocess
import sys

SUITE = pathlib.Path(__file__).with_name("scipy_suite.py")


def run(*arguments):
    return subprocess.run([sys.executable, SUITE, *arguments], capture_output=True, text=True, check=False)


def test_all_of_it_passes():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout


def test_it_notices_a_wrong_x():
    done = run("--spoil")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" not in done.stdout
