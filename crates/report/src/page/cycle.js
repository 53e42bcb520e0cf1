// Why SC does not allow it: a graph with a column per thread, whose arrows say why when one points at them.

const MEANS = { po: "program order", rf: "reads from it", co: "is overwritten by it", fr: "reads before it overwrites",
  rt: "ends before it begins" };
const NODE = 190;
const GAP = 90;
const DOWN = 74;

function showCycle(a, run) {
  const cycle = run.cycle || [];
  if (!cycle.length) return [];
  const on = new Set(cycle.flatMap((c) => [c.from, c.to]));
  const steps = run.steps.filter((s) => on.has(s.n) || s.kind !== "commit" && s.kind !== "local");
  const shown = steps.length <= 30 ? steps : steps.filter((s) => on.has(s.n));
  const drawn = shown.filter((s) => on.has(s.n) || a.question === "history");
  const threads = [...new Set(drawn.map((s) => s.thread))].sort((x, y) => x - y);
  const places = new Map();
  const depth = new Map();
  for (const s of drawn) {
    const row = depth.get(s.thread) || 0;
    depth.set(s.thread, row + 1);
    places.set(s.n, { s, x: 20 + threads.indexOf(s.thread) * (NODE + GAP), y: 40 + row * DOWN });
  }
  const width = 40 + threads.length * (NODE + GAP) - GAP;
  const height = 40 + Math.max(...depth.values()) * DOWN;
  const words = make("p", { class: "why-words", "aria-live": "polite" },
    a.question === "serial"
      ? "Each arrow means “comes before”; the steps of a transaction belong together. They form a circle, so no order of whole transactions explains the run. Point at an arrow to see why it is there."
      : "Each arrow means “comes before”. They form a circle, so no order of these steps explains the run. Point at an arrow to see why it is there.");
  const id = `head-${Math.random().toString(36).slice(2)}`;
  const marker = (edge) => draw("marker", { id: `${id}-${edge}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7,
    markerHeight: 7, orient: "auto-start-reverse" }, draw("path", { d: "M 0 0 L 8 4 L 0 8 z", class: `tip ${edge}` }));
  const edges = cycle.map((c) => {
    const [p, q] = [places.get(c.from), places.get(c.to)];
    if (!p || !q) return null;
    const same = p.x === q.x;
    const right = q.x > p.x;
    const from = same ? [p.x + NODE / 2, p.y + (q.y > p.y ? 34 : 0)] : [p.x + (right ? NODE : 0), p.y + 17];
    const to = same ? [q.x + NODE / 2, q.y + (q.y > p.y ? -2 : 36)] : [q.x + (right ? -2 : NODE + 2), q.y + 17];
    const bend = !same && Math.abs(from[1] - to[1]) < 5 ? (right ? -14 : 14) : 0;
    // Around what is between them.
    const around = same && Math.abs(q.y - p.y) > DOWN;
    const d = around ? `M ${p.x} ${p.y + 17} C ${p.x - 24} ${p.y + 17} ${p.x - 24} ${q.y + 17} ${q.x - 2} ${q.y + 17}` : `M ${from[0]} ${from[1]} Q ${(from[0] + to[0]) / 2} ${(from[1] + to[1]) / 2 + bend} ${to[0]} ${to[1]}`;
    const edge = c.edge || "po";
    const why = `${c.from} comes before ${c.to}: ${c.why || MEANS[edge] || edge}.`;
    const tell = () => { words.textContent = why; };
    // Beside the arrow, near its beginning, where others do not cross it.
    const share = same ? 0.5 : 0.2;
    const below = !same && to[1] < from[1] - 5;
    const label = around ? [p.x - 14, (p.y + q.y) / 2 + 40] : [from[0] + (to[0] - from[0]) * share + (same ? 6 : below ? (right ? 10 : -10) : 0), from[1] + (to[1] - from[1]) * share + (same ? 4 : below ? 12 : -7)];
    return draw("g", { class: `edge ${edge}`, tabindex: "0", role: "img", "aria-label": why, onmouseenter: tell, onfocus: tell },
      draw("title", {}, why), draw("path", { class: "grip", d }), draw("path", { d, "marker-end": `url(#${id}-${edge})` }),
      draw("text", { x: label[0], y: label[1], "text-anchor": same ? "start" : "middle" }, edge));
  });
  const nodes = [...places.values()].map(({ s, x, y }) => {
    const value = s.value !== undefined && s.location ? `${s.kind === "load" ? "reads " : ""}${s.location}=${s.value}` : s.location || "";
    return draw("g", { class: on.has(s.n) ? "node" : "node aside" }, draw("title", {}, `${s.n} ${textOf(a, s)}`),
      draw("rect", { x, y, width: NODE, height: 34, rx: 5 }),
      draw("text", { x: x + 7, y: y + 14 }, cut(`${s.n} ${textOf(a, s)}`, 24)),
      draw("text", { x: x + 7, y: y + 28, class: "soft" }, cut([s.line && `line ${s.line}`, value].filter(Boolean).join(": "), 24)));
  });
  const names = threads.map((t, i) => draw("text", { class: "thread", x: 20 + i * (NODE + GAP) + NODE / 2, y: 22,
    "text-anchor": "middle" }, (run.threads[t] || {}).name || `T${t}`));
  const used = [...new Set(cycle.map((c) => c.edge || "po"))];
  return [
    make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "the cycle as a graph" },
      draw("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "the cycle" },
        draw("defs", {}, used.map(marker)), names, nodes, edges)),
    make("p", { class: "legend" }, used.map((e) => make("span", { class: `key ${e}` }, `${e}: ${MEANS[e] || e}`))), words,
    make("ol", {}, cycle.map((c) => make("li", {}, make("span", { class: "code" }, `${c.from} → ${c.to}`),
      ` ${c.edge}: ${c.why || MEANS[c.edge] || c.edge}`))),
    ...followsFrom(a, run)];
}

// The orders of a history that its cycle follows from.
function followsFrom(a, run) {
  const told = a.question === "history" ? (run.relations || []).filter((r) => r.why) : [];
  if (!told.length) return [];
  return [make("p", {}, "This follows from:"), make("ul", {}, told.map((r) => make("li", {},
    make("span", { class: "code" }, `${r.from || "start"} → ${r.to}`), ` ${r.edge}: ${r.why}`)))];
}
