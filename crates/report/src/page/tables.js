// What only some questions have: the final states of litmus tests, the models of histories.

// Rows are final states, columns models; a cell opens a run, or the reason why there is none.
function showOutcomes(a) {
  const same = answers.filter((b) => b.outcomes && b.file === a.file && b.name === a.name);
  const text = (state) => Object.entries(state).map(([k, v]) => `${k}=${v}`).join("; ");
  const states = [...new Set(same.flatMap((b) => [...b.outcomes, ...(b.shown || []).map((m) => m.state)].map(text)))].sort();
  const has = new Map(same.map((b) => [b, new Set(b.outcomes.map(text))]));
  const place = make("div", { class: "opened", "aria-live": "polite" });
  function open(b, state, more) {
    const model = modelName(b.model);
    const parts = [make("h4", { tabindex: "-1" }, `${state} under ${model}`)];
    if (more.run) parts.push(make("p", {}, `A run that ends so:`), ...showRun(b, more.run, null), ...showCycle(b, more.run));
    const why = more.why_not;
    if (why && why.reason === "cycle") parts.push(make("p", {}, `No run ends so. ${why.candidates === 1 ? "The one way" : `All ${why.candidates} ways`} to get these values ${why.candidates === 1 ? "has" : "have"} a cycle; here is one:`),
      ...showCycle(b, why.execution));
    else if (why && why.reason === "values") parts.push(make("p", {}, `No run ends so: ${why.components.length > 1 ? `these values of ${why.components.join(" and ")} never occur together` : `${why.components[0]} is only ever ${why.instead.join(", ")}`}.`));
    else if (why) parts.push(make("p", {}, "No run ends so; there are too many executions to say why in short."));
    place.replaceChildren(...parts.flat().filter(Boolean));
    place.querySelector("h4").focus();
  }
  const cell = (b, state) => {
    const yes = has.get(b).has(state);
    const more = (b.shown || []).find((m) => text(m.state) === state);
    const [word, kind] = yes ? ["yes", "yes"] : b.complete === false ? ["not seen", "soft"] : ["never", "soft"];
    return make("td", {}, more ? make("button", { type: "button", class: kind, "aria-label": `${state} under ${modelName(b.model)}: ${word}`,
      onclick: () => open(b, state, more) }, word) : make("span", { class: kind }, word));
  };
  const clickable = same.some((b) => (b.shown || []).length);
  return [make("h3", {}, "Final states"),
    clickable && make("p", { class: "soft" }, "A cell opens a run that ends so, or the reason why there is none."),
    make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "final states" }, make("table", { class: "outcomes" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "state"),
        same.map((b) => make("th", { scope: "col" }, modelName(b.model))))),
      make("tbody", {}, states.slice(0, 1000).map((state) => make("tr", {}, make("th", { class: "code", scope: "row" }, state),
        same.map((b) => cell(b, state))))))), place].filter(Boolean);
}

// Stronger models above the weaker ones that they imply.
const LATTICE = { sc: [190, 20], ccm: [110, 80], tso: [270, 80], cm: [50, 140], wccm: [180, 140], pso: [320, 140],
  ccv: [150, 200], cc: [100, 260], coherence: [315, 200] };
const STRONGER = ["sc ccm", "sc tso", "ccm cm", "ccm wccm", "tso wccm", "tso pso", "wccm ccv", "cm cc", "ccv cc", "pso coherence"];

function showLattice(a) {
  const same = new Map(answers.filter((b) => b.question === "history" && subject(b) === subject(a)).map((b) => [b.model, b]));
  if (same.size < 2) return [];
  const line = (pair) => {
    const [[x, y], [u, v]] = pair.split(" ").map((m) => LATTICE[m]);
    return draw("line", { x1: x, y1: y + 15, x2: u, y2: v - 15 });
  };
  const node = ([m, [x, y]]) => {
    const b = same.get(m);
    const kind = b ? said(b)[0] : "unknown";
    const mark = { holds: "✓", violated: "✗", unknown: "?", error: "–" }[kind] || "?";
    const name = `${mark} ${modelName(m)}`;
    const drawn = [draw("title", {}, b ? `${modelName(m)}: ${said(b)[1]}` : "not asked"),
      draw("rect", { x: x - 50, y: y - 15, width: 100, height: 30, rx: 15 }), draw("text", { x, y: y + 5, "text-anchor": "middle" }, name)];
    return b ? draw("a", { href: `#answer-${numbers.get(b)}`, class: `model ${kind} ${b === a ? "this" : ""}` }, drawn)
      : draw("g", { class: "model unknown" }, drawn);
  };
  return [make("h3", {}, "All models"), make("p", { class: "soft" }, "A model implies those below it."),
    draw("svg", { class: "graph lattice", viewBox: "-3 0 376 285", width: 376, height: 285, role: "group", "aria-label": "models" },
      STRONGER.map(line), Object.entries(LATTICE).map(node))];
}

// The operations of the part that violates the model, in the log.
function showLog(a, run) {
  const places = run.steps.filter((s) => s.line);
  if (!sources.has(a.file) || !places.length) return [];
  const marks = new Map(places.map((s) => [s.line, { kind: "store", words: `${s.n}: ${run.threads[s.thread].name} ${s.text}` }]));
  return [make("h3", {}, "In the log"), showSource(a.file, marks, null).box];
}
