// Questions that are asked on the page: the editor, and a process on this machine that answers.

const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
let asked = 0;

async function call(path, body) {
  const response = await fetch(path, { method: body === undefined ? "GET" : "POST", cache: "no-store",
    headers: { "X-Weakspot-Token": token }, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(text.trim() || response.statusText);
  return text ? JSON.parse(text) : null;
}

// The numbers of the lines, beside them wherever they are.
function numberLines() {
  const lines = byId("program").value.split("\n").length;
  if (byId("lines").dataset.count !== String(lines)) {
    byId("lines").textContent = Array.from({ length: lines }, (_, i) => i + 1).join("\n") + "\n";
    byId("lines").dataset.count = lines;
  }
  byId("lines").scrollTop = byId("program").scrollTop;
}
function edit(text) {
  byId("program").value = text;
  numberLines();
}

const status = (text) => { byId("progress").textContent = text; };

// Other answers in the place of those that are there.
function replaceAnswers(found, file, text) {
  unread = found;
  answers = [];
  numbers = new Map();
  rows = new Map();
  sources.clear();
  sources.set(file, text);
  read(unread.length);
  const worst = answers.findIndex((a) => a.verdict === "violated");
  history.replaceState(null, "", `#answer-${Math.max(worst, 0)}`);
  showFirst();
  showAnswer();
}

async function ask() {
  const mine = asked += 1;
  const text = byId("program").value;
  byId("stop").hidden = false;
  status("asking");
  try {
    const { id } = await call("/ask", { text, language: byId("language").value, question: byId("question").value });
    byId("stop").onclick = () => call("/stop", { id }).catch(() => {});
    for (;;) {
      const answer = await call(`/answer?id=${id}`);
      if (mine !== asked) { call("/stop", { id }).catch(() => {}); return; }
      if (answer.done) {
        if (answer.lines.length) replaceAnswers(answer.lines, answer.file, text);
        status(answer.lines.length ? `answered in ${answer.seconds.toFixed(2)} s` : answer.stopped ? "stopped" : answer.said || "no answer");
        break;
      }
      status(answer.progress || `working, ${answer.seconds.toFixed(0)} s`);
      await new Promise((then) => setTimeout(then, answer.seconds < 1 ? 50 : 300));
    }
  } catch (error) {
    if (mine === asked) status(`no answer: ${error.message}`);
  }
  if (mine === asked) byId("stop").hidden = true;
}

// The program in the part of an address that is not sent anywhere.
function packed() {
  const bytes = new TextEncoder().encode(JSON.stringify([byId("language").value, byId("question").value, byId("program").value]));
  return btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
function unpack(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const [language, question, program] = JSON.parse(new TextDecoder().decode(bytes));
    byId("language").value = language;
    byId("question").value = question;
    edit(program);
    status("from the link; Ctrl-Enter asks");
  } catch {
    status("the program in this address is damaged");
  }
}

byId("ask").addEventListener("click", ask);
["input", "scroll"].forEach((event) => byId("program").addEventListener(event, numberLines));
new ResizeObserver(numberLines).observe(byId("program"));
numberLines();
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); ask(); }
});
byId("menu").addEventListener("change", async () => {
  if (!byId("menu").value) return;
  try {
    const { text, language } = await call(`/file?n=${byId("menu").value}`);
    edit(text);
    byId("language").value = language;
    byId("question").value = language === "litmus" ? "litmus" : "robust";
    status("");
  } catch (error) {
    status(`not read: ${error.message}`);
  }
});
byId("link").addEventListener("click", () => {
  const address = `${location.origin}/?token=${encodeURIComponent(token)}#program=${packed()}`;
  byId("linked").hidden = false;
  byId("address").value = address;
  byId("address").select();
  if (navigator.clipboard) navigator.clipboard.writeText(address).then(() => status("the link is copied"), () => {});
});
const given = location.hash.match(/^#program=([\w-]+)$/);
if (given) unpack(given[1]);
byId("summary").hidden = !unread.length;
