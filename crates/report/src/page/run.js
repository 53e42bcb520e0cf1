// A run, step by step: threads, what waits in their store buffers, memory.

const MOST_STEPS = 100;
const MOST_BARS = 6;
const MOST_DID = 6;

// What memory and buffers hold after the first `count` steps; with `sc` every store reaches memory at once.
// `parted`: loads that read something else then, by their numbers.
function replay(run, count, sc) {
  const committed = run.committed || (run.committed = new Set(run.steps.map((s) => s.of)));
  const memory = { ...run.init };
  const buffers = run.threads.map(() => []);
  const parted = new Map();
  for (const s of run.steps.slice(0, count)) {
    const { location: x, value } = s;
    const has = x !== undefined && value !== undefined;
    if (s.kind === "store") {
      const waits = !sc && (committed.has(s.n) || (s.buffers && s.buffers[run.threads[s.thread].name]));
      if (waits) buffers[s.thread].push({ n: s.n, x, value });
      else if (has) memory[x] = value;
    } else if (s.kind === "commit" && !sc) {
      const queue = buffers[s.thread];
      const at = queue.findIndex((e) => e.n === s.of);
      const [entry] = at < 0 ? [s] : queue.splice(at, 1);
      const reached = entry.value !== undefined ? entry.value : value;
      if (x !== undefined && reached !== undefined) memory[x] = reached;
    } else if (s.kind === "load" && has) {
      const own = buffers[s.thread].some((e) => e.x === x);
      if (!(x in memory)) memory[x] = own && !sc ? "?" : value;
      else if (sc && String(memory[x]) !== String(value)) parted.set(s.n, memory[x]);
    } else if (s.kind === "update" && has) memory[x] = value;
  }
  return { memory, buffers, parted };
}

// In which slot of its thread's column each store waits, and until which step.
function bars(run) {
  const until = new Map();
  run.steps.forEach((s, i) => { if (s.kind === "commit") until.set(s.of, i); });
  const slots = run.threads.map(() => []);
  const found = [];
  run.steps.forEach((s, i) => {
    if (s.kind !== "store" && s.kind !== "free" || !(until.has(s.n) || (s.buffers && s.buffers[run.threads[s.thread].name]))) return;
    const to = until.has(s.n) ? until.get(s.n) : run.steps.length;
    if (to === i + 1) return;
    const free = slots[s.thread].findIndex((end) => end <= i);
    const slot = free < 0 ? slots[s.thread].length : free;
    slots[s.thread][slot] = to;
    if (slot < MOST_BARS) found.push({ thread: s.thread, from: i, to, slot, n: s.n });
  });
  return found;
}

// What a step sets that has a name in the source.
const namedSets = (s) => Object.entries(s.sets || {}).filter(([name]) => !name.startsWith("$"));

// The steps of a statement that are not its first; where it fails, it is shown again.
function repeatedIn(steps) {
  const shown = new Map();
  const repeated = new Set();
  for (const s of steps.filter((step) => step.kind !== "commit" && step.line && step.text)) {
    const place = [s.file, s.line, s.column, s.text].join("\n");
    if (shown.get(s.thread) === place && s.kind !== "fail") repeated.add(s.n);
    shown.set(s.thread, place);
  }
  return repeated;
}

// Without places where fences could be, and without what a statement computes on its way.
function worthShowing(steps) {
  const repeated = repeatedIn(steps);
  return steps.filter((s) => s.kind !== "local" || s.text !== "nop" && (!repeated.has(s.n) || namedSets(s).length > 0));
}

// How a thread ends that does not come to its end.
function stops(run, s) {
  const why = run.end && run.end.fails || "";
  if (why.startsWith("livelock") && /^(loops|hangs)/.test(s.note || "")) return "loops";
  return /^(deadlock|livelock)/.test(why) ? "blocked" : "fails";
}

function showRun(a, run, source) {
  const names = run.threads.map((t, i) => t.name || `T${i}`);
  const columns = names.map((_, i) => i).filter((i) => run.steps.some((s) => s.thread === i));
  const onCycle = new Set((run.cycle || []).flatMap((c) => [c.from, c.to]));
  // Of many stores that wait, those tell what went wrong that others could notice.
  const telling = new Set(run.telling || []);
  const late = new Map((run.late || []).filter((l) => !telling.size || telling.has(l.store)).map((l) => [l.store, l.behind]));
  const waits = bars(run);
  const byNumber = new Map(run.steps.filter((s) => s.kind === "store" || s.kind === "free").map((s) => [s.n, s]));
  const last = run.steps.length - 1;
  const model = modelName(run.model || a.model || "tso");
  const parted = replay(run, run.steps.length, true).parted;
  const firstParted = run.steps.findIndex((s) => parted.has(s.n));
  // Of a log without its stores it is not known what is in the buffers.
  const isPartial = run.steps.some((s) => s.kind === "commit" && s.of === undefined);
  const buffered = !isPartial && (waits.length > 0 || run.steps.some((s) => s.kind === "commit"));
  // Where the store is overtaken there is most to see.
  const behind = new Set(late.values());
  let now = Math.max(run.steps.findLastIndex((s) => behind.has(s.n)), 0) || last;
  let sc = false;

  const table = make("table", { class: "steps" });
  const state = make("div", { class: "state" });
  const slider = make("input", { type: "range", min: 0, max: Math.max(last, 0), value: now, "aria-label": "step",
    oninput: () => go(Number(slider.value)) });
  const where = make("output", { "aria-live": "polite" });

  const repeated = repeatedIn(run.steps);
  const did = (s) => s.kind === "local" ? namedSets(s).map(([name, value]) => `${name}=${value}`).join(" ")
    : s.kind === "store" ? `writes ${s.location}${s.value === undefined ? "" : `=${s.value}`}` : valueOf(s) || s.kind.replace("-", " ");
  const valueOf = (s) => s.kind === "fail" ? [stops(run, s), s.note].filter(Boolean).join(": ")
    : s.kind === "alloc" ? `allocates ${s.location}` : s.kind === "free" ? `frees ${s.location}`
    : s.kind === "return" ? "returns" : s.kind === "exit" ? "ends"
    : s.value === undefined || !s.location ? ""
    : s.kind === "load" ? `reads ${s.location}=${s.value}${s.from === "buffer" ? " from its own buffer" : ""}`
      : s.kind === "update" ? `sets ${s.location}=${s.value} in memory` : `${s.location}=${s.value}`;
  const told = (s) => {
    if (s.kind === "commit" && s.of !== undefined) {
      const of = byNumber.get(s.of) || s;
      return [`${s.of} reaches memory`, of.value === undefined ? s.location || "" : `${of.location}=${of.value}`];
    }
    return repeated.has(s.n) ? [did(s), ""] : [textOf(a, s), valueOf(s)];
  };

  const room = names.map((_, c) => waits.reduce((most, w) => w.thread === c ? Math.max(most, w.slot + 1) : most, 0));
  // Of the steps of a statement that nothing comes between, one row: `i` is the first of them.
  function stepRow(steps, i, near) {
    const s = steps[0];
    const end = i + steps.length - 1;
    const dim = sc && firstParted >= 0 && i > firstParted || sc && s.kind === "commit";
    const [what, first] = told(s);
    const others = steps.slice(1).map(did).filter(Boolean);
    const value = [first, ...(others.length > MOST_DID ? [`… ${others.length - 1} more …`, others[others.length - 1]] : others)].filter(Boolean).join(", ");
    const numbers = steps.length === 1 ? s.n : steps.length === 2 ? `${s.n}, ${steps[1].n}` : `${s.n} to ${steps[steps.length - 1].n}`;
    return make("tr", { class: [i <= now && now <= end ? "now" : "", i > now ? "ahead" : "", dim ? "dim" : ""].join(" ").trim() || false,
      onclick: () => go(i) },
    columns.map((c) => {
      const mine = near.filter((w) => !sc && w.thread === c && w.from <= end && i <= w.to);
      return make("td", { class: s.thread === c ? "cell code mine" : "cell code", "data-thread": names[c], style: `padding-left: ${0.6 + room[c] * 0.6}rem` },
        mine.map((w) => make("i", { style: `left: ${0.3 + w.slot * 0.6}rem`, title: `${w.n} waits in the store buffer`,
          class: ["bar", late.has(w.n) ? "late" : "", w.from >= i && w.from <= end ? "first" : "", w.to >= i && w.to <= end ? "last" : ""].join(" ") })),
        s.thread === c && make("div", { class: steps.some((t) => onCycle.has(t.n)) ? "on-cycle" : steps.every((t) => t.kind === "local") ? "soft" : false },
          make("span", { class: "n" }, `${numbers} `), what, value && make("div", { class: "value" }, value),
          steps.filter((t) => late.has(t.n) && !sc).map((t) => make("div", { class: "stays" },
            `${steps.length > 1 ? `${t.n} ` : ""}waits in the store buffer of ${names[c]}: ${late.get(t.n)} overtakes it`)),
          steps.filter((t) => sc && parted.has(t.n)).map((t) => make("div", { class: "parts" },
            `Here they part: under SC it would read ${t.location}=${parted.get(t.n)}, and the program would go on from there.`))));
    }),
    make("td", { class: "code soft" }, placeOf({ ...s, file: s.file && s.file.replace(/^.*\//, "") })));
  }

  function rows(part, from, near) {
    const groups = [];
    part.forEach((s, i) => {
      const last = groups[groups.length - 1];
      if (last && repeated.has(s.n) && s.kind !== "commit" && last.steps[0].thread === s.thread && last.steps[0].kind !== "commit") last.steps.push(s);
      else groups.push({ steps: [s], at: from + i });
    });
    return groups.map(({ steps, at }) => stepRow(steps, at, near));
  }

  function show() {
    const from = Math.max(0, Math.min(now - MOST_STEPS / 2, run.steps.length - MOST_STEPS));
    const part = run.steps.slice(from, from + MOST_STEPS);
    const near = waits.filter((w) => w.to >= from && w.from < from + MOST_STEPS);
    const folded = (count) => count > 0 && make("tr", {},
      make("td", { colspan: columns.length + 1, class: "soft" }, `… ${count} steps …`));
    table.replaceChildren(
      make("thead", {}, make("tr", {}, columns.map((i) => make("th", { scope: "col" }, names[i])),
        make("th", { scope: "col" }, "source"))),
      make("tbody", {}, folded(from), rows(part, from, near),
        folded(run.steps.length - from - part.length)));
    const s = run.steps[now];
    if (!s) return;
    where.textContent = `step ${now + 1} of ${run.steps.length}`;
    slider.value = now;
    if (source) source.mark(s.line && s.kind !== "commit" ? s.line : 0, s.end_line);
    const after = replay(run, now + 1, sc);
    const before = replay(run, now, sc).memory;
    state.replaceChildren(make("div", { class: "lanes" }, columns.map((c) => {
      const queue = after.buffers[c];
      return make("div", { class: `lane ${s.thread === c ? "now" : ""}` },
        make("div", { class: "who" }, make("strong", {}, names[c]),
          make("div", { class: "code" }, s.thread === c ? told(s).filter(Boolean).join(": ").replace(";: ", "; ") : " ")),
        buffered && !sc && make("div", { class: "queue code", role: "img",
          "aria-label": `store buffer of ${names[c]}: ${queue.length ? queue.map((e) => `${e.x}=${e.value}`).join(", then ") : "empty"}` },
        queue.length ? [...queue].reverse().map((e) =>
          make("span", { class: late.has(e.n) ? "late" : false }, e.value === undefined ? `${e.x}` : `${e.x}=${e.value}`))
          : make("span", { class: "none" }, "store buffer empty")),
        make("span", { class: "arrow", "aria-hidden": "true" }, "→"));
    })), make("div", { class: "memory" }, make("strong", {}, "memory"),
      Object.keys(after.memory).length ? Object.entries(after.memory).slice(0, 60).map(([x, v]) =>
        make("div", { class: String(before[x]) !== String(v) ? "code changed" : "code" }, `${x}=${v}`))
        : make("div", { class: "soft" }, a.of === "trace" ? "not known: the log has the values of another order of its events"
          : a.of === "execution" ? "not shown: serializability does not depend on values" : "values are not known")));
  }
  function go(to) {
    now = Math.max(0, Math.min(last, to));
    show();
  }
  const button = (name, label, to) => make("button", { type: "button", onclick: () => go(to()), "aria-label": label }, name);
  const choice = (name, isSc) => make("button", { type: "button", "aria-pressed": String(sc === isSc), "data-model": name.toLowerCase(),
    onclick: (e) => {
      sc = isSc;
      for (const b of e.target.parentNode.children) b.setAttribute("aria-pressed", String(b === e.target));
      if (sc && firstParted >= 0) go(firstParted); else show();
    } }, name);
  const player = make("div", { class: "player", role: "group", "aria-label": "steps of the run", onkeydown: (e) => {
    if (e.target === slider) return;
    if (e.key === "ArrowLeft") go(now - 1);
    if (e.key === "ArrowRight") go(now + 1);
  } },
  button("previous", "previous step", () => now - 1), button("next", "next step", () => now + 1),
  late.size > 0 && button("late store", "late store: where it is issued", () => run.steps.findIndex((s) => late.has(s.n))),
  slider, where, buffered && model !== "SC" && make("span", { class: "toggle", role: "group", "aria-label": "memory model" },
    choice(model, false), choice("SC", true)));
  show();
  const end = run.end && run.end.fails ? make("p", {}, `In the end: ${run.end.fails}.`) : null;
  return [make("div", {}, player, state, make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "all steps" }, table), end)];
}
