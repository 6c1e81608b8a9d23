"use strict";
const root = document.documentElement, $ = id => document.getElementById(id);
addEventListener("error", e => root.dataset.error = e.message);
let files, points, cards;
const fileOf = p => files[p.file];
const idOf = p => `${fileOf(p).name}:${p.name}${p.label ? "|" + p.label : ""}`;
const ms = x => x == null ? "?" : `${Number(x.toPrecision(3))} ms`;

function timeOf({entry: e}) {
  if (e.error_occurred) return `no time: ${e.error_message ?? "unknown error"}`;
  if (e.real_time === null) return "no time: it is no finite number";
  if (e.real_time === undefined)
    return JSON.stringify(e).includes('_ms"') ? "several times; click for all" : "nothing timed; click for the command";
  const [low, high] = [e.p10_ms ?? e.min_ms, e.p90_ms ?? e.max_ms];
  return ms(e.real_time) + (low == null ? "" : ` (${ms(low)} to ${ms(high)})`) + `, ${e.iterations ?? "?"} runs`;
}

// Hover: the name and the time.
function showTip(target, x, y) {
  const p = points[target.dataset.p], tip = $("tip");
  tip.textContent = `${p.name.replaceAll("|", " · ")}${p.label ? "\n" + p.label : ""}\n${target.dataset.t ?? timeOf(p)}\n`
    + (p.entry.backward_error == null ? "" : `backward error ${p.entry.backward_error.toExponential(1)}\n`)
    + fileOf(p).context.gpu;
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 6))}px`;
  tip.style.top = `${y + 16 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 8 : y + 16}px`;
}
document.addEventListener("pointermove", e => {
  const target = points && e.target.closest?.("[data-p]");
  if (target) showTip(target, e.clientX, e.clientY); else $("tip").hidden = true;
});

// Click: everything that is stored about a point.
function fill(table, rows) {
  for (const [name, value] of rows) {
    if (value == null || value === "") continue;  // not stored, or null: not finite
    const row = table.insertRow(), head = document.createElement("th"), cell = row.insertCell();
    head.textContent = name;
    row.prepend(head);
    let text = typeof value === "string" ? value : JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
    if (text.length > 4000) text = `${text.slice(0, 300)} … ${text.length} characters, in the file`;
    cell.append(name.startsWith("command") ? Object.assign(document.createElement("code"), {textContent: text}) : text);
  }
}
function open(number) {
  const p = points[number], {name, context, matrices} = fileOf(p), {entry: e} = p;
  const table = document.createElement("table");
  const shown = new Set(["real_time", "min_ms", "max_ms", "p10_ms", "p90_ms", "iterations", "error_message", "error_occurred",
    "samples_ms", "raw_ms", "label", "command", "seed"]);
  const stored = e.command ?? context.command;
  fill(table, [
    ["time", e.real_time === undefined && !e.error_occurred ? "" : timeOf(p)],
    ["least, most", e.min_ms == null ? "" : `${e.min_ms} ms, ${e.max_ms ?? "?"} ms`],
    ["statistic", e.real_time == null ? context.statistic : `${context.statistic ?? "time"} ${e.real_time} ms`],
    ["raw samples", e.samples_ms ?? e.raw_ms ?? "not stored"],
    ["command", stored], ["command, rebuilt from the row", stored ? "" : p.command],
    ["command, to compare", p.command && `./lulab rerun '${idOf(p)}'`],
    ["seed", String(e.seed ?? context.seed ?? "not stored")],
    ["commit", context.git_hash], ["date", context.date ?? "not stored"],
    ["GPU", context.gpu], ["driver", context.driver ? `CUDA ${context.driver}` : "not stored"],
    ["CPU", `${context.cpu}${context.num_cpus ? `, ${context.num_cpus} logical` : ""}`],
    ["compilers", [context.compiler, context.kernel_compiler].filter(Boolean).join(", ")],
    ["machine speed", context.machine_speed], ["label", e.label],
    ["file", `bench/results/${name}.json`], ["matrix", matrices?.[p.name.split("|")[1]]],
    ...Object.entries(e).filter(([key]) => !shown.has(key)),
  ]);
  $("what").textContent = idOf(p);
  $("facts").replaceChildren(table);
  $("tip").hidden = true;
  if (!$("point").open) $("point").showModal();
  $("point").scrollTop = 0;
  history.replaceState(null, "", "#p=" + encodeURIComponent(idOf(p)));
}
document.addEventListener("click", e => {
  const target = points && e.target.closest("[data-p]");
  if (target) open(target.dataset.p);
  else if (e.target === $("point")) $("point").close();
});
$("point").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));

// Search: every row of every file.
function find() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = points.map((p, k) => k).filter(k => words.every(w => idOf(points[k]).toLowerCase().includes(w)));
  $("count").textContent = `${found.length} of ${points.length} rows${found.length > 40 ? ", the first 40:" : ""}`;
  $("found").replaceChildren(...found.slice(0, 40).map(k => {
    const button = document.createElement("button");
    button.dataset.p = k;
    button.textContent = `${idOf(points[k])}  ${timeOf(points[k])}`;
    return button;
  }));
}

// A closed box is empty until it opens.
function fillCard(box) {
  if (!box.dataset.card) return;
  box.insertAdjacentHTML("beforeend", cards[box.dataset.card]);
  delete box.dataset.card;
}
const openAll = () => document.querySelectorAll("details").forEach(box => { fillCard(box); box.open = true; });

function follow() {
  const wanted = location.hash.startsWith("#p=") && decodeURIComponent(location.hash.slice(3));
  const number = wanted ? points.findIndex(p => idOf(p) === wanted) : -1;
  if (number >= 0) open(number);
}

async function start() {
  const bytes = Uint8Array.from(atob($("data").textContent.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const {shapes, rows, ...rest} = await new Response(stream).json();
  ({files, cards} = rest);
  points = rows.map(([file, name, label, command, shape, ...values]) =>
    ({file, name, label, command, entry: Object.fromEntries(shapes[shape].map((key, k) => [key, values[k]]))}));
  document.querySelectorAll("details").forEach(box => box.addEventListener("toggle", () => fillCard(box)));
  addEventListener("beforeprint", openAll);
  $("search").addEventListener("input", find);
  find();
  addEventListener("hashchange", follow);
  follow();
  root.dataset.ready = "yes";
}
start().catch(error => {
  $("count").textContent = `This browser cannot unpack the numbers: ${error.message}`;
  throw error;
});
