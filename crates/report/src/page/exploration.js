// How an exploration or a search went: curves over time, bars by preemptions, and lines that were never interleaved.

const CHART = { width: 560, height: 220, left: 64, right: 84, top: 14, bottom: 40 };
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

// A few round numbers from 0 to at least the largest one.
function ticks(most) {
  const rough = Math.max(most, 1e-9) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step);
}
const short = (n) => n >= 1e6 ? `${+(n / 1e6).toPrecision(3)} M` : n >= 1e3 ? `${+(n / 1e3).toPrecision(3)} k` : String(+n.toPrecision(3));

// Axes with their names; `xs` and `ys` are the numbers at them.
function axes(xs, ys, names, label, inside) {
  const { width, height, left, right, top, bottom } = CHART;
  const [w, h] = [width - left - right, height - top - bottom];
  const x = (v) => left + v / xs[xs.length - 1] * w;
  const y = (v) => top + h - v / ys[ys.length - 1] * h;
  return draw("svg", { class: "graph chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    ys.map((v) => [draw("line", { class: "grid", x1: left, x2: left + w, y1: y(v), y2: y(v) }),
      draw("text", { class: "soft", x: left - 6, y: y(v) + 4, "text-anchor": "end" }, short(v))]),
    names.ticks ? names.ticks(x, top + h + 16) : xs.map((v) => draw("text", { class: "soft", x: x(v), y: top + h + 16, "text-anchor": "middle" }, short(v))),
    draw("text", { class: "soft", x: left + w / 2, y: height - 4, "text-anchor": "middle" }, names.x), inside(x, y));
}

function curve(samples, key, phases) {
  const last = samples[samples.length - 1];
  const [xs, ys] = [ticks(last.time_s), ticks(last[key])];
  const label = `${key} over time: ${plural(last[key], key.slice(0, -1))} after ${seconds(last.time_s)}`;
  return axes(xs, ys, { x: "seconds" }, label, (x, y) => {
    const points = [{ time_s: 0, [key]: 0 }, ...samples].map((s) => `${x(s.time_s).toFixed(1)},${y(s[key]).toFixed(1)}`);
    // Phases that are over at once would write their names on each other.
    const named = phases.filter((p, i) => i > 0 && x(p.since_s) - x(phases[i - 1].since_s) > 70);
    return [named.map((p) => [draw("line", { class: "phase", x1: x(p.since_s), x2: x(p.since_s), y1: CHART.top, y2: y(0) }),
      draw("text", { class: "soft", x: x(p.since_s) + 4, y: CHART.top + 10 }, p.strategy)]),
    draw("polyline", { class: "curve", points: points.join(" ") }),
    draw("text", { x: x(last.time_s) + 6, y: Math.min(y(last[key]) + 4, y(0)) }, grouped(last[key]))];
  });
}

function histogram(counts) {
  const ys = ticks(Math.max(...counts));
  const label = `executions by preemptions: ${counts.map((n, i) => `${n} with ${i}`).join(", ")}`;
  const every = Math.ceil(counts.length / 14);
  const middle = (x, i) => (x(i) + x(i + 1)) / 2;
  const names = { x: "preemptions", ticks: (x, y) => counts.map((_, i) => i % every === 0
    && draw("text", { class: "soft", x: middle(x, i), y, "text-anchor": "middle" }, String(i))) };
  return axes([0, counts.length], ys, names, label, (x, y) => counts.map((n, i) => {
    const wide = Math.min(x(1) - x(0) - 4, 60);
    return [draw("rect", { class: "bar", x: middle(x, i) - wide / 2, width: Math.max(wide, 1), y: y(n), height: y(0) - y(n) },
      draw("title", {}, `${plural(n, "execution")} with ${plural(i, "preemption")}`)),
    counts.length <= 8 && n > 0 && draw("text", { x: middle(x, i), y: y(n) - 3, "text-anchor": "middle" }, grouped(n))];
  }));
}

// The numbers that a drawing is made of, for those who do not see it.
function numbersOf(title, heads, rows) {
  return make("details", {}, make("summary", {}, title), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": title },
    make("table", {}, make("thead", {}, make("tr", {}, heads.map((h) => make("th", { scope: "col" }, h)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((n) => make("td", { class: "number" }, String(n)))))))));
}

// Why a line was never interleaved.
function apart(l) {
  if (l.before && l.after) return "← some threads always before it, others always after it";
  if (l.before) return "← others always before it";
  if (l.after) return "← others always after it";
  return "← no other thread in its way";
}

function showLines(lines) {
  const never = lines.filter((l) => !l.interleaved);
  const parts = [make("h4", {}, "Lines that were never interleaved")];
  if (!never.length) return [...parts, make("p", {}, `None: all ${plural(lines.length, "line")} where threads access what they share were interleaved.`)];
  parts.push(make("p", {}, `${grouped(never.length)} of ${plural(lines.length, "line")} where threads access what they share: no thread was seen to have a conflicting access both before and after them. Either something orders them, or the executions that would show it are missing.`));
  const files = new Map();
  for (const l of never) files.set(l.file, [...(files.get(l.file) || []), l]);
  for (const [file, found] of files) {
    if (sources.has(file)) parts.push(showSource(file, new Map(found.map((l) => [l.line, { kind: "access", words: apart(l) }])), null).box);
    else parts.push(make("ul", {}, found.map((l) => make("li", { class: "code" }, `${file}:${l.line} ${apart(l)}`))));
  }
  return parts;
}

function showExploration(a) {
  const e = a.exploration;
  if (!e) return [];
  const key = e.over_time.some((s) => s.states !== undefined) ? "states" : "executions";
  const last = e.over_time[e.over_time.length - 1];
  const parts = [make("h3", {}, key === "states" ? "The search" : "The exploration")];
  if (last) parts.push(make("p", {}, key === "states" ? `${plural(last.states, "state")} in ${seconds(last.time_s)}.`
    : `${plural(last.executions, "execution")} with ${plural(last.steps, "step")} in ${seconds(last.time_s)}, by ${a.strategy}.`));
  const half = [];
  if (e.over_time.length > 2) half.push(make("figure", {}, make("figcaption", {}, `${key} over time`), curve(e.over_time, key, e.phases || []),
    numbersOf("as numbers", key === "states" ? ["seconds", "states"] : ["seconds", "executions", "steps"],
      e.over_time.map((s) => key === "states" ? [s.time_s, s.states] : [s.time_s, s.executions, s.steps]))));
  const counts = e.by_preemptions || [];
  if (counts.length) half.push(make("figure", {}, make("figcaption", {}, "executions by preemptions"), histogram(counts),
    numbersOf("as numbers", ["preemptions", "executions"], counts.map((n, i) => [i, n]))));
  if (half.length) parts.push(make("div", { class: "charts" }, half));
  if (e.lines && e.lines.length) parts.push(...showLines(e.lines));
  return parts;
}
