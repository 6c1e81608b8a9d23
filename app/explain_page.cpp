// An explanation as one HTML file: no other file, no network. The data is JSON inside it; the script draws one step.

#include <algorithm>

#include <fmt/format.h>

#include "app/explain_text.h"

namespace lulab::app {
namespace {

constexpr std::string_view page_head = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>lulab explain</title>
<style>
:root {
  color-scheme: light dark;
  --back: #ffffff; --panel: #f4f6f9; --ink: #1c2530; --faint: #5d6b7a; --line: #d5dce4;
  --entry: #bcd0ea; --entry-new: #5b92dd; --entry-done: #27548f;
  --fill-edge: #c07a10; --fill-new: #f0aa3c; --fill-done: #a8660a;
  --work: #2a6fc9; --wait: #c9770a; --done: #2c8a57; --alarm: #cc2936; --mark: #d4145a;
  --on-dark: #ffffff; --on-light: #1c2530;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12171d; --panel: #1c232c; --ink: #e4eaf1; --faint: #93a2b3; --line: #36414e;
    --entry: #35506f; --entry-new: #4d87d1; --entry-done: #9cc3f2;
    --fill-edge: #d0933a; --fill-new: #c88420; --fill-done: #f5c878;
    --work: #6aa8f5; --wait: #f0aa3c; --done: #58c78b; --alarm: #ff6b74; --mark: #ff6fa3;
    --on-dark: #12171d; --on-light: #e4eaf1;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--back); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.2rem; margin: 0; }
.sub { margin: 0 0 .8rem; color: var(--faint); font-size: .9rem; overflow-wrap: anywhere; }
.controls { position: sticky; top: 0; z-index: 1; background: var(--back); padding: .4rem 0; display: flex;
  flex-wrap: wrap; gap: .4rem; align-items: center; }
.controls button { font: inherit; min-width: 2.6rem; height: 2.4rem; border: 1px solid var(--line);
  border-radius: .4rem; background: var(--panel); color: var(--ink); cursor: pointer; }
.controls button:hover { border-color: var(--work); }
.controls #play { min-width: 4.6rem; }
.controls input { flex: 1 1 8rem; min-width: 6rem; accent-color: var(--work); }
#count { min-width: 5.5rem; text-align: right; color: var(--faint); font-variant-numeric: tabular-nums; }
#now { min-height: 4.4rem; margin: .3rem 0 .8rem; padding: .5rem .8rem; background: var(--panel);
  border-left: 4px solid var(--work); border-radius: .2rem; overflow-wrap: anywhere; }
#now.waits, #now.goes_on { border-color: var(--wait); }
#now.finishes, #now.result { border-color: var(--done); }
#now.race, #now.deadlock, #now.wrong { border-color: var(--alarm); }
#now b { display: block; }
#now .detail, #steps .detail { font-size: .85rem; color: var(--faint); }
#now.launch, #now.starts, #now.ends { border-color: var(--line); }
.columns { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; align-items: flex-start; }
.picture { flex: 1 1 22rem; min-width: 0; max-width: 36rem; }
.side { flex: 1 1 18rem; min-width: 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font-family: system-ui, sans-serif; fill: var(--ink); text-anchor: middle; dominant-baseline: central; }
.cell { stroke: var(--line); stroke-width: 1; fill: transparent; }
.cell.a { fill: var(--entry); } .cell.a.new { fill: var(--entry-new); } .cell.a.end { fill: var(--entry-done); }
.cell.f { stroke: var(--fill-edge); stroke-dasharray: 3 3; }
.cell.f.new, .cell.f.end { stroke: var(--line); stroke-dasharray: none; }
.cell.f.new { fill: var(--fill-new); } .cell.f.end { fill: var(--fill-done); }
.cell.bad { fill: var(--alarm); }
.ring { fill: none; stroke: none; stroke-width: 4; }
.ring.read { stroke: var(--mark); stroke-width: 2.5; stroke-dasharray: 5 3; }
.ring.written { stroke: var(--mark); }
text.value { font-size: 11px; fill: var(--on-light); } text.value.end, text.value.bad { fill: var(--on-dark); }
.head { fill: transparent; stroke: var(--line); }
.head.works { fill: var(--work); } .head.waits { fill: var(--wait); } .head.done { fill: var(--done); }
.head + text.on { fill: var(--on-dark); }
.arc { fill: none; stroke: var(--wait); stroke-width: 2; }
.arrow { fill: var(--wait); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: .6rem 0 0; padding: 0; list-style: none;
  font-size: .8rem; color: var(--faint); }
.legend i { display: inline-block; width: .85rem; height: .85rem; margin-right: .3rem; vertical-align: -.1rem;
  border: 1px solid var(--line); }
h2 { font-size: .95rem; margin: 0 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td { padding: .12rem .6rem .12rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td.waits { color: var(--wait); } td.done { color: var(--faint); }
.workers { max-height: 17rem; overflow-y: auto; margin-bottom: 1rem; }
#steps { margin: 0; padding: 0; list-style: none; max-height: 30rem; overflow-y: auto; position: relative;
  border: 1px solid var(--line); border-radius: .3rem; font-size: .9rem; }
#steps li { padding: .2rem .5rem; border-bottom: 1px solid var(--line); cursor: pointer; overflow-wrap: anywhere; }
#steps li:last-child { border-bottom: 0; }
#steps li:hover { background: var(--panel); }
#steps li[aria-current] { background: var(--panel); box-shadow: inset 4px 0 var(--work); }
#steps li.race, #steps li.deadlock, #steps li.wrong { color: var(--alarm); }
#steps span { color: var(--faint); }
@media (max-width: 30rem) {
  body { padding: .6rem; }
  #steps { max-height: 18rem; }
  .controls button { min-width: 2.3rem; }
  #now { min-height: 6rem; }
}
</style>
</head>
<body>
<h1 id="title"></h1>
<p class="sub" id="sub"></p>
<div class="controls">
<button id="first" title="first step (Home)">|◀</button>
<button id="back" title="one step back (←)">◀</button>
<button id="play" title="play or pause (space)">play</button>
<button id="next" title="one step on (→)">▶</button>
<button id="last" title="last step (End)">▶|</button>
<input id="slider" type="range" min="1" value="1" aria-label="step">
<span id="count"></span>
</div>
<div id="now" aria-live="polite"></div>
<div class="columns">
<div class="picture">
<svg id="svg" role="img" aria-label="L + U"></svg>
<ul class="legend">
<li><i style="background:var(--entry)"></i>entry of A</li>
<li><i style="border:1px dashed var(--fill-edge)"></i>fill-in, still zero</li>
<li><i style="background:var(--entry-new)"></i><i style="background:var(--fill-new)"></i>changed</li>
<li><i style="background:var(--entry-done)"></i><i style="background:var(--fill-done)"></i>of a finished column</li>
<li><i style="border:3px solid var(--mark)"></i>written</li>
<li><i style="border:2px dashed var(--mark)"></i>read</li>
<li><i style="background:var(--work)"></i>column at work</li>
<li><i style="background:var(--wait)"></i>waits (an arrow says for which)</li>
<li><i style="background:var(--done)"></i>finished</li>
</ul>
</div>
<div class="side">
<h2>Who does what</h2>
<div class="workers"><table id="workers"></table></div>
<h2>Steps</h2>
<ol id="steps"></ol>
</div>
</div>
<script type="application/json" id="data">)html";

constexpr std::string_view page_tail = R"html(</script>
<script>
"use strict";
const root = document.documentElement;
addEventListener("error", e => { root.dataset.error = e.message; });
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const n = data.n, steps = data.steps;
const arc_height = columns => Math.min(150, 20 + 8 * columns);
const farthest = Math.max(0, ...steps.filter(s => s.kind === "waits").map(s => Math.abs(s.column - s.waits_for)));
const size = 36, left = 30, top_ = 34 + (farthest > 0 ? 6 + 0.75 * arc_height(farthest) : 0);

function add(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}
function html(parent, name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  parent.append(element);
  return element;
}

const svg = $("svg");
svg.setAttribute("viewBox", `0 0 ${left + n * size + 4} ${top_ + n * size + 4}`);
const arcs = add(svg, "g", {});
const heads = [], head_texts = [];
for (let j = 0; j < n; j++) {
  const x = left + j * size;
  heads.push(add(svg, "rect", {x: x + 3, y: top_ - 29, width: size - 6, height: 24, rx: 5, class: "head"}));
  head_texts.push(add(svg, "text", {x: x + size / 2, y: top_ - 17, "font-size": 12}, j + 1));
  add(svg, "text", {x: left - 13, y: top_ + j * size + size / 2, "font-size": 12}, j + 1);
  for (let i = 0; i < n; i++)
    add(svg, "rect", {x: x, y: top_ + i * size, width: size, height: size, class: "cell"});
}
const show_values = n <= 14;
const cells = data.cells.map(([i, j, fill]) => {
  const x = left + j * size, y = top_ + i * size;
  const rect = add(svg, "rect", {x: x + 1.5, y: y + 1.5, width: size - 3, height: size - 3});
  const title = add(rect, "title", {});
  const value = show_values ? add(svg, "text", {x: x + size / 2, y: y + size / 2}) : null;
  return {rect, title, value, i, j, fill, ring: null};
});
for (const cell of cells)
  cell.ring = add(svg, "rect", {x: left + cell.j * size + 2, y: top_ + cell.i * size + 2, width: size - 4,
                                height: size - 4, class: "ring"});

function short_number(v) {
  if (v === null) return "NaN";
  if (Number.isInteger(v) && Math.abs(v) < 1e4) return String(v);
  const a = Math.abs(v);
  return a >= 1e4 || a < 1e-3 ? v.toExponential(0) : String(Number(v.toPrecision(3))).replace(/^(-?)0\./, "$1.");
}

function state_at(k) {
  const state = {values: data.start.slice(), changed: new Set(), heads: Array(n).fill(""), waits: new Map(),
                 workers: new Map()};
  for (let s = 0; s <= k; s++) {
    const step = steps[s];
    for (const [p, v] of step.changed) { state.values[p] = v; state.changed.add(p); }
    for (const j of step.finished) state.heads[j] = "done";
    if (step.kind === "launch") state.workers.clear();
    if (step.column >= 0 && step.kind !== "finishes" && state.heads[step.column] !== "done")
      state.heads[step.column] = "works";
    if (step.kind === "waits") {
      state.heads[step.column] = "waits";
      state.waits.set(step.column, step.waits_for);
    } else if (step.column >= 0 && step.kind !== "race") {
      state.waits.delete(step.column);
    }
    if (!step.worker) continue;
    const about = step.kind === "ends" ? ["has ended", "done"] : step.kind === "starts" ? ["starts", ""]
      : step.kind === "waits" ? [`column ${step.column + 1} waits for column ${step.waits_for + 1}`, "waits"]
      : step.kind === "finishes" ? [`column ${step.finished.map(j => j + 1)} is finished`, "done"]
      : [`works on column ${step.column + 1}`, ""];
    state.workers.set(step.worker, about);
  }
  return state;
}

function arrow(from, to) {
  const x0 = left + from * size + size / 2, x1 = left + to * size + size / 2, y = top_ - 33;
  const height = arc_height(Math.abs(from - to));
  add(arcs, "path", {d: `M${x0} ${y} C${x0} ${y - height} ${x1} ${y - height} ${x1} ${y - 3}`, class: "arc"});
  add(arcs, "path", {d: `M${x1} ${y + 3} l-5 -9 h10 z`, class: "arrow"});
}

let now = 0;
function show(k) {
  now = Math.max(0, Math.min(steps.length - 1, k));
  const step = steps[now], state = state_at(now);
  $("slider").value = now + 1;
  $("count").textContent = `${now + 1} of ${steps.length}`;
  const box = $("now");
  box.replaceChildren();
  box.className = step.kind === "result" && step.written.length ? "wrong" : step.kind;
  const who = step.worker + (step.worker && step.column >= 0 ? `, column ${step.column + 1}` : "");
  if (who) html(box, "b", who);
  html(box, "div", step.text);
  for (const line of step.details) html(box, "div", line, "detail");
  const read = new Set(step.read), written = new Set(step.written);
  cells.forEach((cell, p) => {
    const is_done = state.heads[cell.j] === "done";
    const bad = (step.kind === "race" || step.kind === "result") && written.has(p);
    const about = bad ? "bad" : is_done ? "end" : state.changed.has(p) ? "new" : "";
    cell.rect.setAttribute("class", `cell ${cell.fill ? "f" : "a"} ${about}`);
    cell.ring.setAttribute("class", "ring" + (written.has(p) ? " written" : read.has(p) ? " read" : ""));
    const value = state.values[p];
    cell.title.textContent = `(${cell.i + 1},${cell.j + 1}) ${cell.fill ? "fill-in" : "entry of A"}: ${value}`;
    if (!cell.value) return;
    cell.value.textContent = cell.fill && !state.changed.has(p) ? "" : short_number(value);
    cell.value.setAttribute("class", "value " + about);
  });
  arcs.replaceChildren();
  for (const [from, to] of state.waits) arrow(from, to);
  heads.forEach((head, j) => {
    head.setAttribute("class", "head " + state.heads[j]);
    head_texts[j].setAttribute("class", state.heads[j] ? "on" : "");
  });
  $("workers").replaceChildren();
  const by_number = (a, b) => a[0].localeCompare(b[0], "en", {numeric: true});
  for (const [worker, [text, kind]] of [...state.workers].sort(by_number)) {
    const row = html($("workers"), "tr");
    html(row, "td", worker);
    html(row, "td", text, kind);
  }
  const list = $("steps");
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const item = list.children[now];
  item.setAttribute("aria-current", "step");
  list.scrollTop = item.offsetTop - list.clientHeight / 2;
  root.dataset.step = now + 1;
}

let timer = null;
function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => now + 1 < steps.length ? show(now + 1) : play(false), 800) : null;
  $("play").textContent = on ? "pause" : "play";
}
function go(k) { play(false); show(k); }

$("title").textContent = `${data.algorithm} on ${data.matrix}`;
document.title = `${data.algorithm} on ${data.matrix}`;
$("sub").textContent = `${n} x ${n}, seed ${data.seed}` + (data.resident ? `, ${data.resident} blocks at once` : "") +
  "; as it ran in the simulator";
steps.forEach((step, k) => {
  const bad = step.kind === "result" && step.written.length;
  const item = html($("steps"), "li", undefined, bad ? "wrong" : step.kind);
  html(item, "span", `${k + 1}  ${step.worker} `);
  item.append(step.text);
  item.onclick = () => go(k);
});
$("slider").max = steps.length;
$("slider").oninput = e => go(Number(e.target.value) - 1);
$("first").onclick = () => go(0);
$("back").onclick = () => go(now - 1);
$("next").onclick = () => go(now + 1);
$("last").onclick = () => go(steps.length - 1);
$("play").onclick = () => { if (!timer && now + 1 === steps.length) show(0); play(!timer); };
const keys = {ArrowLeft: () => go(now - 1), ArrowRight: () => go(now + 1), ArrowUp: () => go(now - 1),
              ArrowDown: () => go(now + 1), PageUp: () => go(now - 10), PageDown: () => go(now + 10),
              Home: () => go(0), End: () => go(steps.length - 1), " ": () => $("play").click()};
addEventListener("keydown", e => {
  if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === " " && e.target.tagName === "BUTTON") return;
  e.preventDefault();
  keys[e.key]();
});
const asked = /^#step=(\d+)$/.exec(location.hash);
show(asked ? Number(asked[1]) - 1 : 0);
root.dataset.ready = "yes";
</script>
</body>
</html>
)html";

nlohmann::json page_data(const Explanation& e, const FilledPattern& f, const std::string& matrix) {
  nlohmann::json cells = nlohmann::json::array(), steps = nlohmann::json::array();
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p)
      cells.push_back({f.row_idx[p], j, static_cast<int>(e.is_fill[p])});
  for (const ExplainStep& s : e.steps) {
    nlohmann::json changed = nlohmann::json::array();
    for (const ChangedEntry& c : s.changed) changed.push_back({c.position, c.value});
    steps.push_back({{"kind", to_string(s.kind)},
                     {"worker", s.worker},
                     {"column", s.column},
                     {"text", s.text},
                     {"details", s.details},
                     {"read", s.read},
                     {"written", s.written},
                     {"changed", std::move(changed)},
                     {"waits_for", s.waits_for},
                     {"finished", s.finished}});
  }
  return {
      {"matrix", matrix}, {"algorithm", e.algorithm},  {"seed", e.seed},           {"resident", e.resident}, {"n", f.n},
      {"start", e.start}, {"cells", std::move(cells)}, {"steps", std::move(steps)}};
}

}  // namespace

std::string explanation_as_page(const Explanation& e, const FilledPattern& filled, const std::string& matrix) {
  std::string data = page_data(e, filled, matrix).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;) data.replace(at, 1, "\\u003c");
  return std::string(page_head) + data + std::string(page_tail);
}

}  // namespace lulab::app
