"use strict";
// The page of a report: answers in a table, the runs of one of them step by step. All that it shows
// stands in the page itself, as the objects that `--format json` writes.

const answers = document.getElementById("data").textContent.split("\n").filter((l) => l)
  .map((line) => JSON.parse(line));
const MOST_ROWS = 200;
const MOST_STEPS = 100;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const nameOf = (a) => a.test || a.id || a.name;
const subject = (a) => [a.file, nameOf(a)].filter((x, i, all) => x && all.indexOf(x) === i).join(" ");

// What a verdict means for this question, in a word or two.
function said(a) {
  if (a.verdict === "error") return ["error", "bad input"];
  if (a.verdict === "unknown") return ["unknown", "gave up at a limit"];
  const words = {
    robust: ["robust", "not SC"], run: ["robust", "not SC"], monitor: ["nothing reported", "not SC"],
    reach: ["holds", "fails"], failures: ["no failure", "fails"], litmus: ["holds", "does not hold"],
    history: ["satisfied", "violated"], serial: ["serializable", "not serializable"],
    fence: ["needs none", "needs fences"],
  }[a.question] || ["holds", "violated"];
  if (a.verdict === "holds") return ["holds", words[0]];
  return [a.advisory ? "advice" : "violated", words[1] + (a.advisory ? ", advice" : "")];
}

function pill(a, link) {
  const [kind, words] = said(a);
  const text = `${(a.model || "").toUpperCase()}: ${words}`;
  const inner = make("span", { class: `pill ${kind}` }, text);
  return link ? make("a", { href: `#answer-${answers.indexOf(a)}` }, inner) : inner;
}

// ---- the table of answers

const rows = new Map();
for (const a of answers) {
  const key = `${subject(a)} ${a.question}`;
  if (!rows.has(key)) rows.set(key, []);
  rows.get(key).push(a);
}
const worst = (group) => ["violated", "error", "unknown", "advice", "holds"]
  .find((kind) => group.some((a) => said(a)[0] === kind));

let shownRows = MOST_ROWS;
function showTable() {
  const wanted = document.getElementById("search").value.toLowerCase();
  const kind = document.getElementById("kind").value;
  const found = [...rows.values()].filter((group) =>
    (!kind || group.some((a) => said(a)[0] === kind)) &&
    (!wanted || JSON.stringify(group.map((a) => [subject(a), a.question, a.message, a.failures]))
      .toLowerCase().includes(wanted)));
  const body = found.slice(0, shownRows).map((group) => make("tr", {},
    make("td", { class: "code" }, subject(group[0])),
    make("td", {}, group[0].question),
    make("td", {}, group.flatMap((a) => [pill(a, true), " "])),
    make("td", {}, `${group.reduce((sum, a) => sum + (a.time_s || 0), 0).toFixed(2)} s`)));
  document.getElementById("answers").replaceChildren(
    make("caption", { class: "soft" }, `${found.length} of ${rows.size} questions`),
    make("thead", {}, make("tr", {},
      ["of", "question", "answers", "time"].map((t) => make("th", { scope: "col" }, t)))),
    make("tbody", {}, body));
  document.getElementById("more").hidden = found.length <= shownRows;
}

// ---- one answer

function runsOf(a) {
  const runs = [];
  if (a.run && a.run.steps) runs.push({ title: "A run that shows it", run: a.run });
  (a.violations || []).forEach((v, i) => v.run && runs.push({
    title: `Pair ${i + 1}: ${end(v.access)} overtakes ${end(v.store)}`, run: v.run, fix: v.fix || v.mend,
    frames: v.frames, again: v.again, consequence: v.consequence,
  }));
  (a.failures || []).forEach((f, i) => f.run && runs.push({
    title: `Failure ${i + 1}: ${f.kind}: ${f.message || ""}`, run: f.run, frames: f.frames, again: f.again,
  }));
  return runs;
}
const end = (e) => e ? `${e.kind || ""} ${e.location || ""} by ${e.thread}${e.at ? ` at ${e.at}` : ""}` : "?";

function showAnswer() {
  const hash = location.hash.match(/^#answer-(\d+)$/);
  const a = hash && answers[Number(hash[1])];
  const place = document.getElementById("answer");
  document.getElementById("summary").hidden = Boolean(a);
  place.hidden = !a;
  if (!a) return;
  const parts = [make("p", {}, make("a", { href: "#summary" }, "All answers")),
    make("h2", { tabindex: "-1" }, `${subject(a)}: ${a.question}`), make("p", {}, pill(a, false))];
  if (a.message) parts.push(make("p", {}, a.message));
  if (a.certified === true) parts.push(make("p", { class: "soft" }, "The evidence was checked."));
  if (a.remarks && a.remarks.length) parts.push(...a.remarks.map((r) => make("p", {}, `note: ${r}`)));
  const runs = runsOf(a);
  runs.forEach((one) => parts.push(...showRun(one)));
  if (a.outcomes) parts.push(...outcomes(a));
  if (a.fences && a.fences.length) parts.push(make("h3", {}, "Fences"), make("ul", {}, a.fences.map((f) =>
    make("li", { class: "code" }, [f.file, f.thread, f.line && `line ${f.line}`, f.after || f.what || f.kind]
      .filter(Boolean).join(" ")))));
  if (a.diff) parts.push(make("h3", {}, "The fix"), diff(a.diff));
  if (!runs.length && a.cycle) parts.push(make("h3", {}, "The cycle"),
    make("pre", { tabindex: "0" }, JSON.stringify(a.cycle, null, 1)));
  parts.push(make("details", {}, make("summary", {}, "The whole answer as JSON"),
    make("pre", { tabindex: "0" }, JSON.stringify(a, null, 1).slice(0, 200000))));
  place.replaceChildren(...parts);
  place.querySelector("h2").focus();
}

// The final states of a litmus test, for all models that were asked about.
function outcomes(a) {
  const same = answers.filter((b) => b.outcomes && b.file === a.file && b.name === a.name);
  const text = (state) => Object.entries(state).map(([k, v]) => `${k}=${v}`).join("; ");
  const states = [...new Set(same.flatMap((b) => b.outcomes.map(text)))].sort();
  return [make("h3", {}, "Final states"), make("div", { class: "wide", tabindex: "0" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "state"),
      same.map((b) => make("th", { scope: "col" }, b.model.toUpperCase())))),
    make("tbody", {}, states.slice(0, 1000).map((state) => make("tr", {}, make("td", { class: "code" }, state),
      same.map((b) => make("td", {}, b.outcomes.some((s) => text(s) === state) ? "yes" : "never")))))))];
}

function diff(text) {
  return make("pre", { tabindex: "0" }, text.split("\n").map((line) => make("span", {
    class: /^\+[^+]/.test(line) ? "added" : /^-[^-]/.test(line) ? "removed" : false,
  }, `${line}\n`)));
}

// ---- a run, step by step

// The same steps on a memory without buffers: where does a load read something else?
function withoutBuffers(run) {
  const memory = { ...run.init };
  const parted = new Map();
  for (const s of run.steps) {
    if (s.kind === "store" && s.location && "value" in s) memory[s.location] = s.value;
    if (s.kind === "load" && s.location in memory && "value" in s && memory[s.location] !== s.value) {
      parted.set(s.n, memory[s.location]);
    }
    if (s.kind === "update" && s.location && "value" in s) memory[s.location] = s.value;
  }
  return parted;
}

function showRun({ title, run, fix, frames, again, consequence }) {
  const threads = run.threads.map((t, i) => t.function ? `${t.name} (${t.function})` : t.name || `T${i}`);
  const used = threads.map((_, i) => run.steps.some((s) => s.thread === i));
  const columns = threads.map((_, i) => i).filter((i) => used[i]);
  const onCycle = new Set((run.cycle || []).flatMap((c) => [c.from, c.to]));
  const late = new Map((run.late || []).map((l) => [l.store, l.behind]));
  const parted = withoutBuffers(run);
  let now = run.steps.length - 1;
  let sc = false;

  const table = make("table", { class: "steps" });
  const state = make("div", { class: "state", "aria-live": "polite" });
  const slider = make("input", { type: "range", min: 0, max: run.steps.length - 1, value: now,
    "aria-label": "step", oninput: () => go(Number(slider.value)) });
  const where = make("output", {});
  const toggle = make("button", { type: "button", "aria-pressed": "false", onclick: () => {
    sc = !sc;
    toggle.setAttribute("aria-pressed", String(sc));
    draw();
  } }, "compare with SC");

  const text = (s) => {
    if (s.kind === "commit") return `${s.of} reaches memory: ${s.location || ""}${"value" in s ? `=${s.value}` : ""}`;
    const what = s.text || `${s.kind} ${s.location || ""}`;
    const value = "value" in s && s.location ? ` (${s.location}${s.kind === "load" ? " is " : "="}${s.value})` : "";
    return `${s.n}. ${what}${value}`;
  };
  function draw() {
    const from = Math.max(0, Math.min(now - MOST_STEPS / 2, run.steps.length - MOST_STEPS));
    const part = run.steps.slice(from, from + MOST_STEPS);
    const folded = (count) => count > 0 && make("tr", {},
      make("td", { colspan: columns.length + 1, class: "soft" }, `... ${count} steps ...`));
    table.replaceChildren(
      make("thead", {}, make("tr", {}, columns.map((i) => make("th", { scope: "col" }, threads[i])),
        make("th", { scope: "col" }, "source"))),
      make("tbody", {}, folded(from), part.map((s, i) => make("tr", { class: from + i === now ? "now" : false },
        columns.map((c) => make("td", { class: "cell code" }, s.thread === c && make("div", {
          class: [late.has(s.n) || s.kind === "commit" && late.has(s.of) ? "late" : "", onCycle.has(s.n) ? "on-cycle" : ""]
            .join(" ").trim() || false,
        }, text(s),
        late.has(s.n) && make("div", {}, `stays in the buffer: ${late.get(s.n)} is done before it is in memory`),
        sc && parted.has(s.n) && make("div", { class: "parts" }, `under SC it would read ${parted.get(s.n)}`)))),
        make("td", { class: "code soft" }, s.file ? `${s.file}:${s.line || ""}` : s.line ? `line ${s.line}` : ""))),
      folded(run.steps.length - from - part.length)));
    const s = run.steps[now];
    where.textContent = `step ${now + 1} of ${run.steps.length}`;
    slider.value = now;
    const known = run.steps.slice(0, now + 1).reverse();
    const buffers = (known.find((k) => k.buffers) || {}).buffers;
    const memory = (known.find((k) => k.memory) || {}).memory || run.init || {};
    state.replaceChildren(...[make("div", {}, make("strong", {}, "now"), make("p", { class: "code" }, text(s))),
      ...(buffers ? columns.map((c) => run.threads[c].name).map((name) => make("div", {},
        make("strong", {}, `buffer of ${name}`), make("div", { class: "queue code" },
          (buffers[name] || []).length ? buffers[name].map(([x, v]) => make("span", {}, `${x}=${v}`)) : "empty"))) : []),
      Object.keys(memory).length > 0 && make("div", {}, make("strong", {}, "memory"),
        ...Object.entries(memory).slice(0, 60).map(([x, v]) => make("div", { class: "code" }, `${x}=${v}`)))].filter(Boolean));
  }
  function go(to) {
    now = Math.max(0, Math.min(run.steps.length - 1, to));
    draw();
  }
  const button = (name, label, to) => make("button", { type: "button", onclick: () => go(to()), "aria-label": label }, name);
  const firstLate = () => run.steps.findIndex((s) => late.has(s.n));
  const player = make("div", { class: "player", role: "group", "aria-label": "steps of the run", onkeydown: (e) => {
    if (e.target === slider) return;
    if (e.key === "ArrowLeft") go(now - 1);
    if (e.key === "ArrowRight") go(now + 1);
  } },
  button("previous", "previous step", () => now - 1), button("next", "next step", () => now + 1),
  late.size > 0 && button("late store", "the store that is late", firstLate), slider, where,
  parted.size > 0 && toggle);
  draw();
  const parts = [make("h3", {}, title)];
  if (consequence) parts.push(make("p", {}, typeof consequence === "string" ? consequence
    : `then: ${Object.values(consequence).filter((v) => typeof v === "string").join(": ")}`));
  parts.push(player, state, make("div", { class: "wide", tabindex: "0" }, table));
  if (run.cycle && run.cycle.length) {
    const why = { po: "program order", rf: "reads from", co: "is overwritten by", fr: "reads what is overwritten by" };
    parts.push(make("p", {}, "No order explains this, because each of these comes before the next:"),
      make("ol", {}, run.cycle.map((c) => make("li", { class: "code" },
        `${c.from} ${c.edge} ${c.to}: ${c.why || why[c.edge] || c.edge}`))));
  }
  if (fix) parts.push(make("p", {}, `Fix: ${fix}`));
  if (frames) parts.push(make("details", {}, make("summary", {}, "Where in the source"),
    make("pre", { tabindex: "0" }, JSON.stringify(frames, null, 1))));
  if (again) parts.push(make("p", {}, "Again by ", make("code", {}, again)));
  return parts;
}

document.getElementById("search").addEventListener("input", () => { shownRows = MOST_ROWS; showTable(); });
document.getElementById("kind").addEventListener("change", () => { shownRows = MOST_ROWS; showTable(); });
document.getElementById("more").addEventListener("click", () => { shownRows += MOST_ROWS; showTable(); });
window.addEventListener("hashchange", showAnswer);
showTable();
showAnswer();
