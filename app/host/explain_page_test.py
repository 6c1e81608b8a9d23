#!/usr/bin/env python3
"""Look at the pages of `lulab explain --html` in headless Chromium: light, dark, and as wide as a phone.

Each page gets a probe, a script at its end that presses keys, moves the slider and plays, and writes what it sees into
attributes of <html>. Exit code 77 where no Chromium is installed (Debian: apt install chromium).

    app/host/explain_page_test.py build/sim/bin [--screenshots FOLDER]
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
MODES = {"light": (1200, 900, []), "dark": (1200, 900, ["--blink-settings=preferredColorScheme=0"]),
         "phone": (500, 800, [])}
PROBE = """<script>
const told = root.dataset, press = key => dispatchEvent(new KeyboardEvent("keydown", {key}));
told.back = getComputedStyle(document.body).backgroundColor;
told.ink = getComputedStyle(document.body).color;
told.window = innerWidth;
told.wide = document.documentElement.scrollWidth;
told.rings = document.querySelectorAll(".ring.written").length;
told.bad = document.querySelectorAll(".cell.bad").length;
told.arcs = document.querySelectorAll(".arc").length;
told.current = document.querySelectorAll("#steps [aria-current]").length;
told.text = document.getElementById("now").textContent;
press("Home"); told.home = told.step;
press("ArrowRight"); press("ArrowRight"); press("ArrowLeft"); told.arrows = told.step;
press("End"); told.end = told.step;
press("ArrowRight"); told.after_end = told.step;
$("slider").value = 5; $("slider").dispatchEvent(new Event("input")); told.slid = told.step;
document.querySelector("#steps li:nth-child(3)").click(); told.clicked = told.step;
press(" ");
setTimeout(() => {
  told.played = told.step;
  press(" ");
  told.label = $("play").textContent;
  parent.postMessage(JSON.stringify(told), "*");
}, 2000);
</script>
"""
# A window of Chromium is at least 500 pixels wide; a frame is a window to the page in it.
PHONE = """<!doctype html><html><body style="margin:0"><iframe src="%PAGE%" style="border:0;width:360px;height:800px">
</iframe><script>
onmessage = e => Object.assign(document.documentElement.dataset, JSON.parse(e.data));
</script></body></html>
"""

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED {what}")


def browse(browser, folder, page, step, mode, *options):
    """What Chromium says of the page, opened at a step."""
    width, height, extra = MODES[mode]
    address = f"{page.resolve().as_uri()}#step={step}"
    if mode == "phone":
        frame = folder / f"phone_{page.name}"
        frame.write_text(PHONE.replace("%PAGE%", address), encoding="utf-8")
        address = frame.resolve().as_uri()
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}",
               f"--window-size={width},{height}", "--virtual-time-budget=4000", *extra, *options,
               address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def look_at(browser, folder, page, step, mode, screenshots):
    """What the probe saw, {name: value}."""
    probed = folder / f"probed_{page.name}"
    text = page.read_text(encoding="utf-8")
    probed.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    answer = browse(browser, folder, probed, step, mode, "--dump-dom")
    where = f"{page.name}, {mode}"
    expect(answer.returncode == 0, f"{where}: {browser} ends with {answer.returncode}: {answer.stderr[-500:]}")
    for line in answer.stderr.split("\n"):
        expect("CONSOLE" not in line, f"{where}: the console says: {line}")
    head = re.search(r"<html [^>]*>", answer.stdout)
    told = dict(re.findall(r'data-([a-z_]+)="([^"]*)"', head[0] if head else ""))
    expect(told.get("ready") == "yes" and "error" not in told, f"{where}: the script fails: {told.get('error')}")
    if screenshots:
        browse(browser, folder, page, step, mode, f"--screenshot={(screenshots / f'{page.stem}_{mode}.png').resolve()}")
    return told


def check(told, where, steps, marks):
    expect(told.get("current") == "1", f"{where}: not one step is the current one: {told.get('current')}")
    moves = {"home": 1, "arrows": 2, "end": steps, "after_end": steps, "slid": 5, "clicked": 3}
    for name, value in {**moves, **marks}.items():
        expect(told.get(name) == str(value), f"{where}: {name} is {told.get(name)}, not {value}")
    expect(int(told.get("played", 0)) > 3, f"{where}: playing has not gone on from step 3: {told.get('played')}")
    expect(told.get("label") == "play", f"{where}: after space twice the button says {told.get('label')}")
    expect(int(told.get("wide", 1e9)) <= int(told.get("window", 0)),
           f"{where}: {told.get('wide')} pixels wide in a window of {told.get('window')}")


def brightness(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour or "0")[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of the program lulab")
    parser.add_argument("--screenshots", type=pathlib.Path, help="also write pictures of the pages there")
    chosen = parser.parse_args()
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: no Chromium is installed; pages of lulab explain are not looked at (apt install chromium)")
        return 77
    if chosen.screenshots:
        chosen.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        pages = {}
        for name, options, code in [("glu1", ["--algo", "01_glu1_racy", "--seed", "2"], 4),
                                    ("deadlock", ["--algo", "deadlock", "--seed", "1"], 4)]:
            page = folder / f"{name}.html"
            command = [chosen.programs.resolve() / "lulab", "explain", ROOT / "tutorials/example.mtx", *options]
            ran = subprocess.run([*command, "--html", page], capture_output=True, text=True, timeout=60, check=False)
            expect(ran.returncode == code, f"lulab explain {name}: exit code {ran.returncode}: {ran.stderr}")
            lines = [line for line in ran.stdout.split("\n")[1:] if re.match(r"\s*\d+  ", line)]
            pages[name] = (page, lines)
            expect("http" not in re.sub(r"http://www.w3.org/2000/svg", "", page.read_text(encoding="utf-8")),
                   f"{name}: the page asks for something from the network")
        page, lines = pages["glu1"]
        race = next(k for k, line in enumerate(lines, 1) if "race on (6,7)" in line)
        seen = {mode: look_at(browser, folder, page, race, mode, chosen.screenshots) for mode in MODES}
        for mode, told in seen.items():
            check(told, f"glu1, {mode}", len(lines), {"rings": 1, "bad": 1, "arcs": 0})
            text = told.get("text", "")
            expect("race on (6,7): columns 4 and 6" in text, f"glu1, {mode}: it says {text}")
        expect(seen["phone"].get("window") == "360", f"the phone is {seen['phone'].get('window')} pixels wide")
        for mode, dark in [("light", False), ("dark", True)]:
            back, ink = (brightness(seen[mode].get(name)) for name in ("back", "ink"))
            expect((back < ink) == dark and abs(back - ink) > 400, f"{mode}: brightness {back} behind {ink}")
        page, lines = pages["deadlock"]
        told = look_at(browser, folder, page, len(lines), "phone", chosen.screenshots)
        check(told, "deadlock", len(lines), {"rings": 0, "bad": 0, "arcs": 2})
    print(f"{len(failures)} failures" if failures else "the pages work in light, in dark and on a phone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
