// Markdown by marked, formulas by KaTeX as MathML. HTML that a model writes is shown as text, and of what marked makes only the elements
// and attributes below are copied to the page: nothing is executed.
const hasMarkdown = typeof marked !== "undefined";
const hasFormulas = hasMarkdown && typeof katex !== "undefined";
const escaped = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const kTab = "\uE000";  // a tab in code, which marked would turn into spaces

function codeBlock(text, language) {
  const copy = button("Copy", () => copyText(text, copy), "quiet");
  const code = element("code");
  code.append(...highlighted(text, language));
  const head = element("div", "code-head", element("span", "", language || "text"), copy);
  const pre = element("pre", "", code);
  pre.tabIndex = 0;
  if (language) code.setAttribute("aria-label", language + " code");
  return element("div", "code", head, pre);
}

function formula(tex, isBlock) {
  const node = element(isBlock ? "div" : "span", isBlock ? "formula" : "");
  try { katex.render(tex, node, { output: "mathml", displayMode: isBlock, throwOnError: false, maxSize: 20, maxExpand: 300, strict: "ignore" }); }
  catch { node.textContent = tex; }
  return node;
}

if (hasMarkdown) {
  const formulaToken = (name, level, start, pattern) => ({
    name, level,
    start: source => { const at = source.search(start); return at < 0 ? undefined : at; },
    tokenizer(source) {
      const match = pattern.exec(source);
      return match ? { type: name, raw: match[0], text: (match[1] ?? match[2]).trim(), isBlock: /^(\$\$|\\\[)/.test(match[0]) } : undefined;
    },
    renderer: token => `<span class="tex${token.isBlock ? " tex-block" : ""}">${escaped(token.text)}</span>`,
  });
  // Dollars around a price are no formula: the first is followed, the last preceded by a character, and no digit follows.
  if (hasFormulas) marked.use({ extensions: [
    formulaToken("formulaBlock", "block", /(^|\n) {0,3}(\$\$|\\\[)/, /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]) *(?:\n|$)/),
    formulaToken("formulaInline", "inline", /\$|\\[([]/, /^(?:\$\$([^$\n]+?)\$\$|\\\[([\s\S]+?)\\\])/),
    formulaToken("formulaText", "inline", /\$|\\\(/, /^(?:\$(?![\s$])((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|\\\(([\s\S]+?)\\\))/),
  ] });
  marked.use({ gfm: true, breaks: true, headerIds: false, mangle: false, renderer: {
    html: text => escaped(text),
    code: (text, info) => `<pre><code class="language-${escaped((info || "").split(/\s/)[0])}">${escaped(text.replaceAll(kTab, "\t"))}\n</code></pre>`,
    image: (href, title, text) => `<a href="${escaped(href || "")}">${escaped(text || "image")}</a>`,
    table: (head, body) => `<div class="table"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>`,
  } });
}

const kElements = new Set("P BR STRONG EM DEL A CODE PRE H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE TABLE THEAD TBODY TR TH TD HR INPUT SPAN DIV".split(" "));
const kAttributes = new Set(["class", "align", "start", "type", "checked", "disabled"]);

// Copies the nodes of a document that is not shown; of an element that is not listed its text alone.
function copyClean(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) { to.append(node.data); continue; }
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    if (!kElements.has(node.tagName)) { to.append(node.textContent); continue; }
    const copy = document.createElement(node.tagName);
    for (const { name, value } of node.attributes) if (kAttributes.has(name)) copy.setAttribute(name, value);
    if (node.tagName === "INPUT") { copy.type = "checkbox"; copy.disabled = true; }
    if (node.tagName === "A" && /^(https?:|mailto:)/i.test(node.getAttribute("href") || "")) {
      copy.href = node.getAttribute("href");
      copy.rel = "noreferrer noopener";
      copy.target = "_blank";
    }
    copyClean(node, copy);
    to.append(copy);
  }
}

function rendered(token) {
  const block = element("div", "block");
  copyClean(new DOMParser().parseFromString(marked.parser([token]), "text/html").body, block);
  for (const code of block.querySelectorAll("pre > code")) {
    code.parentNode.replaceWith(codeBlock(code.textContent.replace(/\n$/, ""), /^language-(.+)/.exec(code.className)?.[1] || ""));
  }
  for (const tex of block.querySelectorAll("span.tex")) tex.replaceWith(formula(tex.textContent, tex.classList.contains("tex-block")));
  return block;
}

// The text as marked reads it, with as many characters in each line however much follows: no tabs before a line, except in code.
function prepared(text) {
  let fence = "";
  return text.replace(/\r\n?/g, "\n").split("\n").map(line => {
    const mark = /^\s*(?:>\s?)*\s*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) { fence = mark; return line; }
    if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = "";
    return fence ? line.replaceAll("\t", kTab) : line.replace(/^( *)(\t+)/, (_, spaces, tabs) => spaces + "    ".repeat(tabs.length));
  }).join("\n");
}

// Shows a text that grows. Blocks that did not change keep their nodes: what is selected stays selected, and long answers cost no more.
class MarkdownView {
  constructor(node) { this.node = node; this.reset(); }
  reset() { this.blocks = []; this.settled = 0; this.before = ""; this.node.replaceChildren(); }

  update(text) {
    if (!hasMarkdown) { if (text !== this.before) this.node.replaceChildren(plainMarkdown(text)); this.before = text; return; }
    const source = prepared(text);
    if (source === this.before) return;
    if (!source.startsWith(this.before.slice(0, this.settled))) this.reset();
    this.before = source;
    const kept = this.blocks.filter(block => block.end <= this.settled);
    const open = this.blocks.slice(kept.length);
    const tokens = marked.lexer(source.slice(this.settled));
    let at = this.settled;
    const fresh = [];
    for (const token of tokens) {
      at += token.raw.length;
      if (token.type === "space" || token.type === "def") continue;
      const old = open[fresh.length];
      if (old && old.raw === token.raw) { fresh.push({ ...old, end: at }); continue; }
      const node = rendered(token);
      if (old) old.node.replaceWith(node); else this.node.append(node);
      fresh.push({ raw: token.raw, node, end: at });
    }
    for (const old of open.slice(fresh.length)) old.node.remove();
    this.blocks = [...kept, ...fresh];
    // The last two can still change: a paragraph may become a heading or a table, a list may go on after an empty line.
    if (fresh.length > 2 && at === source.length) this.settled = fresh[fresh.length - 3].end;
  }
}
