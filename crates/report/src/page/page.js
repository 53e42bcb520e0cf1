// One answer: what went wrong in a sentence, where that is in the source, runs, why, and the fix.

const FIRST = 5;
const end = (e) => e ? `${e.kind || ""} ${e.location || ""} by ${e.thread}${e.at ? ` at ${e.at}` : ""}` : "?";

// All that an answer explains by a run.
function explained(a) {
  const found = [];
  if (a.run && a.run.steps) found.push({ title: a.question === "history" && (a.run.cycle || []).length ? "Operations that no order explains" : "The run, step by step", run: a.run });
  (a.violations || []).forEach((v, i) => v.run && found.push({
    title: `Pair ${i + 1} of ${a.violations.length}: ${end(v.store)}, overtaken`, run: v.run, fix: v.fix || v.mend,
    frames: [v.store_frames, v.access_frames], again: v.again || v.schedule, consequence: v.consequence, failure: v.failure,
  }));
  (a.failures || []).forEach((f, i) => f.run && found.push({
    title: `Failure ${i + 1} of ${a.failures.length}: ${f.kind}${f.message ? `: ${f.message}` : ""}`, run: f.run,
    frames: [f.frames], again: f.again || f.schedule,
  }));
  for (const one of found) one.run.steps = worthShowing(one.run.steps);
  return found;
}

// The store that is late and what overtakes it: as on the cycle if it is there, else the first access of what somebody
// else overwrites then.
function overtaking(run) {
  const late = run.late || [];
  const step = (n) => run.steps.find((s) => s.n === n);
  const next = (l) => ((run.cycle || []).find((c) => c.from === l.store && c.edge === "po") || {}).to;
  const telling = new Set(run.telling || []);
  const first = late.find(next) || late.find((l) => telling.has(l.store)) || late[0];
  if (!first || !step(first.store)) return null;
  const store = step(first.store);
  const reaches = (run.steps.find((s) => s.of === first.store) || {}).n || Infinity;
  const overwritten = (run.relations || []).filter((r) => r.edge === "fr" && r.from > first.store && r.from < reaches
    && (step(r.from) || {}).thread === store.thread && (step(r.to) || {}).thread !== store.thread).map((r) => r.from);
  const access = step(next(first) || (overwritten.length ? Math.min(...overwritten) : first.behind));
  return access ? [store, access] : null;
}

const linesOf = (s) => s.end_line ? `${s.line}-${s.end_line}` : String(s.line || "");
const placeOf = (s) => s.file ? `${s.file}:${linesOf(s)}` : s.line ? `${s.end_line ? "lines" : "line"} ${linesOf(s)}` : "";
const inPlace = (s) => placeOf(s) ? ` (${placeOf(s)})` : "";

// Fences give SC at best. An execution with commits need not be one of SC, whatever it is judged by.
const noFenceHelps = (a) => a.question === "serial" && (a.sc_serializable === "violated"
  || answers.some((b) => b.question === "serial" && b.model === "sc" && b.verdict === "violated" && subject(b) === subject(a)
    && (a.of !== "execution" || b.sc_equivalent === true)));

// What happened, for somebody who has never heard of store buffers.
function inWords(a, one, pair) {
  const helpless = a.model !== "sc" && noFenceHelps(a) && make("p", {}, make("strong", {}, "No fence helps: "),
    "the transactions are not serializable under SC either, where stores reach memory at once. They have to keep each other out, by a lock.");
  if (!pair) return helpless ? [helpless] : [];
  const [store, access] = pair;
  // A litmus test only asks what there is.
  const asked = a.question === "litmus";
  const who = (one.run.threads[store.thread] || {}).name || "a thread";
  const what = store.value !== undefined ? `${store.location}=${store.value}` : store.location;
  const reads = access.kind === "load" && access.value !== undefined ? `, which reads ${access.location}=${access.value},` : "";
  const parts = [make("p", {}, make("strong", {}, asked ? "What happens: " : "What goes wrong: "), `${who} executes `, make("code", {}, textOf(a, store)),
    `${inPlace(store)}, but the store of ${what} waits in the processor's store buffer, where other threads do not see it. Meanwhile `,
    make("code", {}, textOf(a, access)), `${inPlace(access)}${reads} is already done.`)];
  if (helpless) return [...parts, helpless];
  const together = access.line && store.line && (store.file || "") === (access.file || "") && access.thread === store.thread;
  const between = together && placeOf(store) === placeOf(access) ? `between the accesses to ${store.location} and ${access.location} at ${placeOf(store)}` : together
    ? `between ${placeOf(store)} and ${placeOf(access)}` : `behind ${placeOf(store) || textOf(a, store)}`;
  // What overtakes a store under PSO is another store, which a cheaper fence holds back.
  const stores = one.run.model === "pso" && ["store", "commit"].includes(access.kind) && !asked;
  parts.push(make("p", {}, make("strong", {}, asked ? "What would prevent it: a fence " : "Where the fence goes: "), one.fix ? `${one.fix}.` : `${stores ? "a store-store fence " : ""}in ${who}, ${between}. It makes the store reach memory first.`,
    !one.fix && a.question !== "fence" && sources.has(a.file) && a.question !== "litmus" && !["monitor", "serial", "history"].includes(a.question)
      && [" ", make("code", {}, document.getElementById("program") ? "fence" : `weakspot fence ${a.file}`), " finds the fewest fences that prevent all such runs."]));
  return parts;
}

function showOne(a, one) {
  const { run } = one;
  const parts = [make("h3", {}, one.title)];
  if (one.consequence) parts.push(make("p", {}, { fails: `Then the program fails: ${(one.failure || {}).message || ""}`,
    unnoticed: "No execution that was tried fails because of it.", unknown: "Whether anything fails because of it is not known." }[one.consequence] || String(one.consequence)));
  const pair = overtaking(run);
  parts.push(...inWords(a, one, pair));
  let source = null;
  const file = pair && fileOf(a, pair[0]);
  if (file && pair[0].line) {
    const other = fileOf(a, pair[1]) === file && pair[1].line;
    const together = other === pair[0].line;
    const marks = new Map([[pair[0].line, { kind: "store", steps: together ? pair : [pair[0]],
      words: together ? "← this store waits in the buffer, and what follows it here overtakes it" : "← this store waits in the buffer" }]]);
    if (other && !together) marks.set(other, { kind: "access", steps: [pair[1]], words: "← and this overtakes it" });
    source = showSource(file, marks, other ? [pair[0].line, other] : null);
    parts.push(source.box);
  }
  if (a.broken) parts.push(make("p", {}, make("strong", {}, `${a.broken}.`)));
  if (a.question === "history") parts.push(...showCycle(a, run), ...showLog(a, run));
  if (run.steps.length && !(a.question === "history" && (run.cycle || []).length)) parts.push(...showRun(a, run, source));
  if (a.question !== "history" && (run.cycle || []).length) parts.push(make("h3", {}, "Why no order explains it"), ...showCycle(a, run));
  const frames = (one.frames || []).filter((f) => f && f.length);
  if (frames.length) parts.push(make("details", {}, make("summary", {}, "Calls that led there"),
    frames.map((f) => make("pre", { tabindex: "0" }, f.join("\n")))));
  if (one.again) parts.push(make("p", { class: "soft" }, "Its schedule: ", make("code", {}, one.again)));
  return parts;
}

function showFix(a) {
  const parts = [];
  const fences = a.fences || [];
  if (!fences.length && !a.diff) return parts;
  parts.push(make("h3", {}, "The fix"));
  if (fences.length) parts.push(make("ul", {}, fences.map((f) => make("li", {}, f.what ? `${f.file ? `${f.file}:${f.line}: ` : ""}${f.what}${f.language ? " (for the rules of C11 and Rust)" : ""}`
    : `${f.thread ? `in ${f.thread}, ` : ""}${!f.before ? "behind " : f.before === f.after ? "before " : "between "}`, f.after && make("code", {}, f.after),
  f.before && f.before !== f.after && [" and ", make("code", {}, f.before)], f.line && !f.what ? ` (line ${f.line})` : ""))));
  if (a.diff) parts.push(showDiff(a.diff));
  if (a.diff && a.explorations !== undefined) parts.push(make("p", { class: "soft" }, "To apply it: ",
    make("code", {}, `patch ${a.folder ? `-d ${a.folder} ` : ""}-p0`)));
  if (a.fixable) parts.push(make("p", {}, make("strong", {}, "With it: "), make("span", { class: "pill holds" },
    make("span", { "aria-hidden": "true" }, "✓ "), `${modelName(a.model)}: ${a.goal === "safe" ? "holds" : a.goal ? "robust" : "none of these pairs"}`),
  a.optimal ? " No cheaper fences do that." : ""));
  return parts;
}

function showAnswer() {
  const hash = location.hash.match(/^#answer-(\d+)$/);
  // Those of the other models are its neighbours.
  if (hash) read(Number(hash[1]) + 50);
  const a = hash && answers[Number(hash[1])];
  const place = document.getElementById("answer");
  document.getElementById("summary").hidden = Boolean(a);
  place.hidden = !a;
  if (!a) return;
  const others = answers.filter((b) => b !== a && b.question === a.question && subject(b) === subject(a));
  const parts = [make("p", {}, make("a", { href: "#summary" }, "← all answers")),
    make("h2", { tabindex: "-1" }, `${subject(a)}: ${a.question}`),
    make("p", { class: "pills" }, pill(a, false), others.length > 0 && make("span", { class: "soft" }, " other models: "), others.map((b) => [pill(b, true), " "]))];
  if (a.proposition) parts.push(make("p", {}, "Condition: ", make("code", {}, `${a.condition} ${a.proposition}`)));
  if (a.message) parts.push(make("p", {}, a.message, a.line ? ` (line ${a.line}, column ${a.column})` : ""));
  if (a.kind === "value") parts.push(make("p", {}, "No memory does that, so every model is violated. ", (a.last_writes || []).length
    ? `The last writes to ${a.variable} before it: ${a.last_writes.map((w) => `${w.thread} wrote ${w.value} (line ${w.line})`).join(", ")}.`
    : `Nothing was written to ${a.variable} before it.`));
  if ((a.verdict === "error" || a.kind === "value") && a.line && sources.has(a.file)) parts.push(showSource(a.file, new Map([[a.line, { kind: "access", words: "← here" }]]), null).box);
  if (a.limit) parts.push(make("p", {}, `Gave up: ${typeof a.limit === "string" ? a.limit : Object.entries(a.limit).map(([k, v]) => `${k} ${v}`).join(", ")}`));
  if (a.question === "history") parts.push(...showLattice(a));
  const all = explained(a);
  const list = make("div", {}, all.slice(0, FIRST).map((one) => showOne(a, one)));
  parts.push(list);
  if (all.length > FIRST) {
    let shown = FIRST;
    const more = make("button", { type: "button", onclick: () => {
      list.append(...all.slice(shown, shown + FIRST).flatMap((one) => showOne(a, one)).flat().filter(Boolean));
      shown += FIRST;
      more.hidden = shown >= all.length;
    } }, `more of ${all.length} findings`);
    parts.push(make("p", {}, more));
  }
  if (!all.length && a.verdict === "holds") parts.push(make("p", {}, "Nothing was found that breaks it."));
  parts.push(...showFix(a));
  if (a.outcomes) parts.push(...showOutcomes(a));
  parts.push(...showExploration(a));
  if (a.certified === true) parts.push(make("p", { class: "soft" }, "The evidence for this answer was checked by definition."));
  (a.remarks || []).forEach((r) => parts.push(make("p", { class: "soft" }, `note: ${r}`)));
  const json = make("pre", { tabindex: "0" });
  parts.push(make("details", { ontoggle: () => { json.textContent = JSON.stringify(a, null, 1).slice(0, 200000); } },
    make("summary", {}, "The whole answer as JSON"), json));
  place.replaceChildren(...parts.flat().filter(Boolean));
  // Whoever writes in an editor goes on writing.
  if (!document.activeElement || document.activeElement.tagName !== "TEXTAREA") place.querySelector("h2").focus();
}

document.getElementById("search").addEventListener("input", showFirst);
document.getElementById("kind").addEventListener("change", showFirst);
document.getElementById("more").addEventListener("click", () => { shownRows += MOST_ROWS; showTable(); });
window.addEventListener("hashchange", showAnswer);
read(3 * MOST_ROWS);
showTable();
showAnswer();
setTimeout(readOn, 0);
