// The table of all answers: a row for each file or test, a pill for each model.

const MOST_ROWS = 200;
let shownRows = MOST_ROWS;
let rows = new Map();

// Reads answers up to this one, and the rows that they are in.
function read(count) {
  while (answers.length < Math.min(count, unread.length)) {
    const a = parsed(unread[answers.length]);
    numbers.set(a, answers.length);
    answers.push(a);
    const key = `${subject(a)}\n${a.question}`;
    if (!rows.has(key)) rows.set(key, { of: subject(a), question: a.question, group: [], kinds: new Set(), time: 0, found: 0, advised: 0, text: key.toLowerCase() });
    const row = rows.get(key);
    row.group.push(a);
    row.kinds.add(said(a)[0]);
    row.time += a.time_s || 0;
    if (said(a)[0] === "advice") row.advised += findings(a);
    else row.found += findings(a);
    const more = [a.message, ...(a.failures || []).map((f) => f.message), ...(a.violations || []).map((v) => `${end(v.store)} ${end(v.access)}`)];
    row.text += ` ${more.filter(Boolean).join(" ")}`.toLowerCase();
  }
}

// The rest, a few at a time, so that the page can be used meanwhile.
function readOn() {
  const since = performance.now();
  while (answers.length < unread.length && performance.now() - since < 30) read(answers.length + 20);
  if (answers.length < unread.length) setTimeout(readOn, 0);
  else showTable();
}

const seconds = (s) => s < 0.01 ? "< 0.01 s" : `${s.toFixed(2)} s`;

// What counts, and what is only advice.
const foundIn = (row) => [row.found || !row.advised ? `${row.found}` : "", row.advised ? `${row.advised} as advice` : ""].filter(Boolean).join(", ");

// The answer that people want to see first.
const worst = (row) => ["violated", "advice", "unknown", "error"]
  .map((kind) => row.group.find((a) => said(a)[0] === kind)).find(Boolean) || row.group[0];

function showTable() {
  const wanted = document.getElementById("search").value.trim().toLowerCase();
  const kind = document.getElementById("kind").value;
  if (wanted || kind) read(unread.length);
  const found = [...rows.values()].filter((row) => (!kind || row.kinds.has(kind)) && (!wanted || row.text.includes(wanted)));
  const body = found.slice(0, shownRows).map((row) => make("tr", {},
    make("th", { class: "code", scope: "row" }, make("a", { href: addressOf(worst(row)) }, row.of)), make("td", {}, row.question),
    make("td", {}, row.group.flatMap((a) => [pill(a, true), " "])),
    make("td", { class: "number", "data-name": "findings: " }, foundIn(row)), make("td", { class: "number", "data-name": "time: " }, seconds(row.time))));
  document.getElementById("answers").replaceChildren(
    make("caption", { class: "soft" }, `${found.length} of ${rows.size} questions${answers.length < unread.length ? ", more are being read" : ""}; choose an answer to see why`),
    make("thead", {}, make("tr", {},
      ["of", "question", "answers", "findings", "time"].map((t, i) =>
        make("th", { scope: "col", class: i > 2 ? "number" : "" }, t)))),
    make("tbody", {}, body));
  document.getElementById("more").hidden = found.length <= shownRows;
}
const showFirst = () => { shownRows = MOST_ROWS; showTable(); };
