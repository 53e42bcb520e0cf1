"use strict";
// The page of a report. All that it shows stands in the page itself: the objects that `--format json` writes,
// and the sources that they are about. This part: the data, and how elements are made.

const lines = (id) => document.getElementById(id).textContent.split("\n").filter((line) => line);
// Answers are read from the text as they are needed, the rest when there is time: a page may have thousands.
let unread = lines("data");
let answers = [];
let numbers = new Map();
// Numbers that JavaScript would round stay as they are written.
const exact = (_, value, context) => typeof value === "number" && !Number.isSafeInteger(value)
  && context && /^-?\d+$/.test(context.source) ? context.source : value;
// To look at each value takes several times as long, and only numbers of 16 digits and more are rounded.
const parsed = (line) => /\d{16}/.test(line) ? JSON.parse(line, exact) : JSON.parse(line);

const sources = new Map(lines("sources").map((line) => JSON.parse(line)));

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.flat(2).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}
const make = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

// What people call a model. Those of transactions are words.
const MODELS = { ccv: "CCv", wccm: "wCCM", "pso-own": "PSO-own", coherence: "coherence",
  lin: "linearizability", "tso-rt": "TSO-rt" };
const oneModel = (key) => MODELS[key] || (key.length > 3 ? key.replace(/-/g, " ") : key.toUpperCase());
const modelName = (keys) => (keys || "").split(",").map(oneModel).join(",");

const nameOf = (a) => a.test || a.id || a.name;
// A test that is named as its file is says nothing new.
const subject = (a) => {
  const stem = (a.file || "").replace(/^.*\//, "").replace(/\.[^.]*$/, "");
  const name = nameOf(a) || (a.id === null && a.number ? `no. ${a.number}` : "");
  return [a.file, name !== stem && name !== a.file && name].filter(Boolean).join(" ");
};

// What a verdict means for this question, in a word or two.
function said(a) {
  if (a.verdict === "error") return ["error", "bad input"];
  if (a.verdict === "unknown") return ["unknown", "gave up at a limit"];
  const words = {
    robust: ["robust", "not robust"], run: ["nothing but SC", "breaks SC"],
    monitor: ["nothing reported", "breaks SC"], reach: ["proved", "fails"], failures: ["no failure", "fails"],
    litmus: ["holds", "does not hold"], history: ["satisfied", "violated"],
    serial: ["serializable", "not serializable"], fence: ["needs no fence", "needs fences"],
  }[a.question] || ["holds", "violated"];
  if (a.verdict === "holds") return ["holds", words[0]];
  const seen = (a.violations || []).map((v) => v.consequence);
  const unnoticed = a.question === "run" && seen.length > 0 && seen.every((c) => c === "unnoticed");
  const word = unnoticed ? "not SC, but unnoticed" : words[1];
  // Fences for a program that was executed are advice: what fails is an answer of its own.
  const advised = a.advisory || a.question === "fence" && a.explorations !== undefined;
  return [advised || unnoticed ? "advice" : "violated", word + (advised ? ", advice" : "")];
}

const addressOf = (a) => `#answer-${numbers.get(a)}`;

function pill(a, link) {
  const [kind, words] = said(a);
  const mark = { holds: "✓", violated: "✗", advice: "!", unknown: "?", error: "–" }[kind];
  const inner = make("span", { class: `pill ${kind}` }, make("span", { "aria-hidden": "true" }, `${mark} `),
    `${modelName(a.model)}: ${words}`, link && make("span", { "aria-hidden": "true" }, " ›"));
  return link ? make("a", { href: addressOf(a) }, inner) : inner;
}

// How many things an answer has found.
const findings = (a) => a.verdict !== "violated" ? 0
  : Math.max(1, (a.violations || []).length, (a.failures || []).length);
