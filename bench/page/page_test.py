#!/usr/bin/env python3
"""Look at docs/report.html in headless Chromium without a network: light, dark, and as wide as a phone.

A probe at the end of the page hovers over a mark, clicks it, searches, and writes what it sees into <html>.
Exit code 77 where no Chromium is installed (Debian: apt install chromium).

    bench/page/page_test.py [--screenshots FOLDER]
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "app/host"))
from explain_page_test import BROWSERS, MODES, brightness, browse  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/report.html"
MOST_BYTES = 3_000_000
PROBE = """<script>
const told = root.dataset, say = (name, value) => told[name] = value;
const waits = setInterval(() => told.ready && (clearInterval(waits), probe()), 50);
function probe() {
say("closed", document.querySelectorAll("[data-card]").length);
openAll();
say("window", innerWidth);
say("wide", document.documentElement.scrollWidth);
say("back", getComputedStyle(document.body).backgroundColor);
say("ink", getComputedStyle(document.body).color);
const word = document.querySelector("details[open] svg text");
const mark = document.querySelector("details[open] use[data-p]");
say("letters", getComputedStyle(word).fontSize + " " + word.getBoundingClientRect().height);
say("word", getComputedStyle(document.querySelector("details[open] svg text[class]")).fill);
const at = {bubbles: true, clientX: 5, clientY: 300};
say("tip_before", $("tip").hidden);
mark.dispatchEvent(new PointerEvent("pointermove", at));
say("tip", $("tip").hidden ? "" : $("tip").textContent);
say("tip_right", $("tip").getBoundingClientRect().right);
document.body.dispatchEvent(new PointerEvent("pointermove", at));
say("tip_after", $("tip").hidden);
mark.dispatchEvent(new MouseEvent("click", at));
say("opened", $("point").open);
say("facts", $("facts").textContent);
say("hash", decodeURIComponent(location.hash));
$("point").close();
document.querySelector("td[data-p]").click();
say("cell", $("what").textContent);
$("point").close();
const markOf = list => [...document.querySelectorAll("use[data-p]")].find(e =>
  points[e.dataset.p].name === list + "|memplus");
markOf("patterns").dispatchEvent(new PointerEvent("pointermove", at));
say("pattern_tip", $("tip").textContent);
markOf("patterns").dispatchEvent(new MouseEvent("click", at));
say("pattern", $("facts").textContent);
$("point").close();
markOf("level_columns").dispatchEvent(new PointerEvent("pointermove", at));
say("level_tip", $("tip").textContent);
$("search").value = "memplus STEP auto h200/step_f64";
$("search").dispatchEvent(new Event("input"));
say("found", $("found").children.length);
$("found").firstChild.click();
say("row", $("what").textContent);
$("point").close();
// A row with the nulls that stand for numbers that are not finite, and one without a time or a statistic.
const nulls = {min_ms: null, max_ms: null, p10_ms: null, p90_ms: null, backward_error: null, bound_ms: null};
const added = points.length;
for (const real_time of [7, null])
  points.push({file: 0, name: `broken ${real_time ?? "time"}|a|step|f64`, label: "", command: "",
    entry: {real_time, ...nulls}});
$("search").value = "broken";
$("search").dispatchEvent(new Event("input"));
const seen = [];
const {statistic} = files[0].context;
delete files[0].context.statistic;
for (const button of $("found").children) {
  button.dispatchEvent(new PointerEvent("pointermove", at));
  const tip = $("tip").textContent;
  button.click();
  seen.push(button.textContent, tip, $("facts").textContent);
  $("point").close();
}
say("nulls", seen.join(" / "));
files[0].context.statistic = statistic;
points.length = added;
find();
say("unknown", [...document.querySelectorAll("[data-p]")].filter(e => !points[e.dataset.p]).length);
const shown = [...document.querySelectorAll("td[data-p]")].filter(e => e.textContent !== "–"
  && points[e.dataset.p].entry.real_time !== undefined);
say("papers", document.querySelectorAll(".papers td[data-p]").length);
const ofPoint = e => Number(points[e.dataset.p].entry.real_time.toPrecision(3));
say("differ", shown.filter(e => Number(e.textContent) !== ofPoint(e)).length);
say("shown", shown.length);
say("wide_open", document.documentElement.scrollWidth);
say("left_closed", document.querySelectorAll("[data-card]").length);
if (parent !== window) parent.postMessage(JSON.stringify(told), "*");
}
</script>"""
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED {what}")


def look_at(browser, folder, mode, screenshots):
    probed = folder / "probed.html"
    probed.write_text(PAGE.read_text(encoding="utf-8").replace("</body></html>",
                      PROBE + "</body></html>"), encoding="utf-8")
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"
    answer = browse(browser, folder, probed, 0, mode, "--dump-dom", offline)
    expect(answer.returncode == 0, f"{mode}: {browser} ends with {answer.returncode}: {answer.stderr[-500:]}")
    for line in answer.stderr.split("\n"):
        expect("CONSOLE" not in line, f"{mode}: the console says: {line}")
    if screenshots:
        browse(
    browser,
    folder,
    PAGE,
    0,
    mode,
    f"--screenshot={(screenshots / f'report_{mode}.png').resolve()}",
     offline)
    head = re.search(r"<html [^>]*>", answer.stdout)
    return dict(re.findall(r'data-([a-z_]+)="([^"]*)"', head[0] if head else ""))


def check(mode, told):
    def says(name, value):
        expect(told.get(name) == value, f"{mode}: {name} is {told.get(name)}, not {value}")

    says("ready", "yes")
    says("error", None)
    says("tip_before", "true")
    says("tip_after", "true")
    says("opened", "true")
    says("unknown", "0")
    nulls = told.get("nulls", "")
    expect("7 ms, ? runs" in nulls and "time 7 ms" in nulls and "no time" in nulls and not re.search(
        r"null|undefined|NaN", nulls), f"{mode}: a row with nulls is shown as {nulls}")
    says("differ", "0")
    expect(int(told.get("shown", 0)) > 1000, f"{mode}: the tables show {told.get('shown')} times")
    expect(
    re.search(
        r" ms \([\d.]+ ms to [\d.]+ ms\), \d+ runs\n(backward error .*\n)?NVIDIA",
        told.get(
            "tip",
            "")),
             f"{mode}: tip: {told.get('tip')}")
    expect(int(told.get("papers", 0)) > 20, f"{mode}: {told.get('papers')} figures beside published ones open")
    for word in ("./lulab bench --matrix", "commit",
                 "seed", "raw samples", "CPU", "driver", "bench/results/"):
        expect(word in told.get("facts", ""), f"{mode}: a click does not show {word}: {told.get('facts')}")
    expect(told.get("hash", "").startswith("#p=nvidia"), f"{mode}: the address is {told.get('hash')}")
    expect(":" in told.get("cell", ""), f"{mode}: a cell opens {told.get('cell')}")
    expect(
    told.get(
        "row",
        "").startswith("nvidia-h200/step_f64:auto|memplus|step"),
         f"{mode}: search: {told.get('row')}")
    for name, word in (("pattern_tip", "nothing timed; click for the command"), ("level_tip", "147 levels"),
                       ("pattern", "./lulab draw memplus.mtx.gz --what density --order amd")):
        expect(word in told.get(name, ""), f"{mode}: {name} says {told.get(name)}, not {word}")
    expect(len(told.get("pattern", "")) < 4000, f"{mode}: a pattern's facts are {len(told.get('pattern', ''))} long")
    expect(int(told.get("closed", 0)) > 10, f"{mode}: {told.get('closed')} boxes are closed")
    says("left_closed", "0")
    for name in ("wide", "wide_open", "tip_right"):
        expect(float(told.get(name, 1e9)) <= int(told.get("window", 0)),
               f"{mode}: {name} is {told.get(name)} in a window of {told.get('window')}")
    expect(float(told.get("letters", "0 0").split()[1]) >= 9.5, f"{mode}: letters of figures are {told.get('letters')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshots", type=pathlib.Path, help="also write pictures of the page there")
    screenshots = parser.parse_args().screenshots
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: no Chromium is installed; docs/report.html is not looked at (apt install chromium)")
        return 77
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    text = PAGE.read_text(encoding="utf-8")
    expect(len(text.encode()) <= MOST_BYTES, f"the page has {len(text.encode())} bytes")
    expect(not re.search(r"(?:src|href)=[\"'](?!#)|https?:(?!//www.w3.org/2000/svg)|@import|url\((?!#)", text),
           "the page asks for something from the network")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        seen = {mode: look_at(browser, pathlib.Path(folder), mode, screenshots) for mode in MODES}
    for mode, told in seen.items():
        check(mode, told)
    expect(seen["phone"].get("window") == "360", f"the phone is {seen['phone'].get('window')} pixels wide")
    for mode, dark in (("light", False), ("dark", True)):
        back, ink, word = (brightness(seen[mode].get(name)) for name in ("back", "ink", "word"))
        expect((back < ink) == dark and abs(back - ink) > 400, f"{mode}: brightness {back} behind {ink}")
        expect(abs(back - word) > 400, f"{mode}: brightness {back} behind words of figures, {word}")
    print(f"{len(failures)} failures" if failures else "the page works in light, in dark and on a phone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
