// The source of a program, with the lines that matter and an arc from the store to what overtakes it.

const AROUND = 3;

// Which file a step is in, if its text is here.
const fileOf = (a, s) => sources.has(s.file) ? s.file : !s.file && sources.has(a.file) ? a.file : null;

// What is written in the source where a step is, else what the step says.
function textOf(a, s) {
  // Of a log without its stores, when they reach memory is all that is known of them.
  if (s.kind === "commit" && s.of === undefined) return `store of ${s.location || ""}`;
  const file = fileOf(a, s);
  const short = /^(wr|rd|upd|acq|rel) /.test(s.text || "");
  const line = file && s.line && short ? (sources.get(file).split("\n")[s.line - 1] || "").trim() : "";
  return line || s.text || `${s.kind} ${s.location || ""}`;
}

// A line, with the parts marked that steps are, where their columns are known and the line has others.
function withParts(line, steps) {
  const ranges = (steps || []).filter((s) => s.column).map((s) => {
    const from = [...line].slice(0, s.column - 1).join("").length;
    const rest = line.slice(from);
    const stop = rest.search(/;|$/);
    return [from, from + (s.text && rest.startsWith(s.text) ? s.text.length : rest.slice(0, stop).trimEnd().length)];
  }).filter(([from, to]) => from < to && line.slice(from, to).replace(/;$/, "") !== line.trim().replace(/;$/, "")).sort(([p], [q]) => p - q);
  const parts = [];
  let at = 0;
  for (const [from, to] of ranges.filter(([from], i) => !i || from >= ranges[i - 1][1])) {
    parts.push(line.slice(at, from), make("mark", {}, line.slice(from, to)));
    at = to;
  }
  return [...parts, line.slice(at) || (at ? "" : " ")];
}

// `marks`: lines with a word on each, a class, and the steps there; `arc`: from which line to which. Returns the element, and
// what marks the line of the step that is shown.
function showSource(file, marks, arc) {
  const text = sources.get(file).replace(/\n$/, "").split("\n");
  const wanted = [...marks.keys()];
  const near = (n) => wanted.some((m) => Math.abs(m - n) <= AROUND);
  const shown = new Map();
  const rowOf = (n) => {
    const mark = marks.get(n);
    const row = make("div", { class: `row ${mark ? mark.kind : ""}` }, make("span", { class: "at" }, String(n)),
      make("span", { class: "line" }, withParts(text[n - 1] || "", mark && mark.steps)), mark && make("span", { class: "why" }, mark.words));
    shown.set(n, row);
    return row;
  };
  const list = make("div", { class: "rows" });
  function fill(all) {
    shown.clear();
    const parts = [];
    let left = 0;
    const fold = () => {
      if (left) parts.push(make("button", { type: "button", class: "fold", onclick: () => { fill(true); arcs(); } },
        `… ${left} ${left === 1 ? "line" : "lines"} …`));
      left = 0;
    };
    text.forEach((_, i) => {
      if (all ? i < 5000 : near(i + 1)) { fold(); parts.push(rowOf(i + 1)); } else left += 1;
    });
    fold();
    list.replaceChildren(...parts);
  }
  const lines = draw("svg", { class: "arcs", "aria-hidden": "true" });
  const box = make("div", { class: "source code", tabindex: "0", role: "group", "aria-label": `source ${file}` }, lines, list);
  function arcs() {
    const [from, to] = (arc || []).map((n) => shown.get(n));
    lines.replaceChildren();
    if (!from || !to || from === to) return;
    const middle = (row) => row.offsetTop + row.querySelector(".line").offsetHeight / 2;
    const [a, b] = [middle(from), middle(to)];
    lines.setAttribute("height", list.offsetHeight);
    lines.append(draw("path", { class: "arc", d: `M 26 ${a} C 2 ${a} 2 ${b} 22 ${b}` }),
      draw("path", { class: "head", d: `M 27 ${b} l -8 -5 v 10 z` }));
  }
  fill(false);
  new ResizeObserver(arcs).observe(box);
  const mark = (n, end) => shown.forEach((row, m) => row.classList.toggle("now", m >= n && m <= (end || n)));
  return { box: make("figure", {}, make("figcaption", { class: "soft code" }, file), box), mark };
}

function showDiff(text) {
  return make("pre", { tabindex: "0", class: "diff" }, text.replace(/\n$/, "").split("\n").map((line) => make("span", {
    class: /^(\+\+\+|---|@@)/.test(line) ? "soft" : line[0] === "+" ? "added" : line[0] === "-" ? "removed" : false,
  }, `${line}\n`)));
}
