// Elements of the page, and what it says in passing.
const $ = id => document.getElementById(id);

function element(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function button(text, action, className) {
  const node = element("button", className, text);
  node.type = "button";
  node.onclick = action;
  return node;
}

// A line below the header until it is closed; one with the same key replaces the earlier one. `action`: [text, function] of a button.
function notice(key, text, { bad = false, action, seconds } = {}) {
  closeNotice(key);
  const line = element("div", "notice" + (bad ? " bad" : ""), element("span", "", text));
  line.dataset.key = key;
  if (action) line.append(button(action[0], () => { line.remove(); action[1](); }));
  const close = button("✕", () => line.remove(), "quiet");
  close.setAttribute("aria-label", "Close this notice");
  line.append(close);
  $("notices").append(line);
  if (seconds) setTimeout(() => line.remove(), seconds * 1000);
}
function closeNotice(key) { for (const line of [...$("notices").children]) if (line.dataset.key === key) line.remove(); }

function announce(text) { $("announce").textContent = text; }

// Clipboards exist in secure contexts only: not on http:// of another machine.
async function copyText(text, source) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
    const before = source.textContent;
    source.textContent = "Copied";
    setTimeout(() => { source.textContent = before; }, 1200);
  } catch (error) { notice("copy", "The browser did not copy: " + error.message, { bad: true }); }
}
function copyBySelection(text) {
  const field = element("textarea", "hidden-text");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("it has no clipboard for this page");
}

function download(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const randomId = () => [...crypto.getRandomValues(new Uint8Array(12))].map(b => b.toString(16).padStart(2, "0")).join("");
const sizeText = count => count < 1000 ? `${count} B` : count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
