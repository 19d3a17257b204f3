// What is seen of a conversation: one node a message, of which only what changes is drawn again.
const views = new Map();  // message id → MessageView
const kLongMessage = 20000;  // characters of a message of the user that are shown at once

class MessageView {
  constructor(message) {
    this.message = message;
    this.node = element("article", "message " + message.role);
    this.who = element("div", "who");
    this.chips = element("div", "chips");
    this.reasoning = null;
    this.body = element("div", "body");
    this.calls = element("div");
    this.foot = element("div");
    this.tools = element("div", "tools");
    this.node.append(this.who, this.chips, this.body, this.calls, this.foot, this.tools);
    this.markdown = new MarkdownView(this.body);
  }

  update() {
    const { message } = this;
    const running = runs.get(message.conversation)?.message === message;
    this.who.textContent = message.role === "user" ? "You" : message.role === "tool" ? "Result" : message.model || "Model";
    this.chips.hidden = !message.attachments.length;
    if (!this.chips.childNodes.length) this.chips.append(...message.attachments.map(one => element("span", "chip", `${one.name} · ${sizeText(one.text.length)}`)));
    this.updateReasoning(running);
    if (!this.editor) this.updateBody();
    this.body.hidden = !this.editor && !message.content && !(running && !message.reasoning);
    this.body.classList.toggle("waiting", running && !message.content);
    this.updateCalls();
    if (running) { this.updateSpeed(); if (this.isRunning) return; }
    this.isRunning = running;
    this.updateFoot(running);
  }

  updateBody() {
    const { message } = this;
    if (message.role !== "assistant" && message.content.length > kLongMessage && !this.isWhole) {
      this.body.classList.add("text");
      this.body.replaceChildren(message.content.slice(0, kLongMessage) + " … ", button(`Show all ${sizeText(message.content.length)}`, () => { this.isWhole = true; this.update(); }));
    } else if (message.role === "assistant" || message.content.length <= kLongMessage) {
      this.markdown.update(message.content);
    } else if (this.body.textContent !== message.content) {
      this.body.classList.add("text");
      this.body.textContent = message.content;
    }
  }

  // The same node until the end: whether it is open is the reader's choice.
  updateReasoning(running) {
    const { message } = this;
    if (!message.reasoning) return;
    if (!this.reasoning) {
      this.summary = element("summary");
      const text = element("div");
      this.reasoning = element("details", "reasoning", this.summary, text);
      this.thoughts = new MarkdownView(text);
      this.reasoning.ontoggle = () => { if (this.reasoning.open) this.thoughts.update(this.message.reasoning); };
      this.body.before(this.reasoning);
    }
    const summary = running && !message.content ? "Reasoning …" : "Reasoning";
    if (this.summary.textContent !== summary) this.summary.textContent = summary;
    if (this.reasoning.open) this.thoughts.update(message.reasoning);
  }

  updateCalls() {
    this.message.calls.forEach((call, index) => {
      let box = this.calls.children[index];
      if (!box) {
        box = element("details", "call", element("summary"), element("pre", "", element("code")));
        this.calls.append(box);
      }
      box.firstChild.textContent = `Calls ${call.name}`;
      let text = call.arguments;
      try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not whole yet */ }
      if (box.lastChild.textContent !== text) box.lastChild.firstChild.replaceChildren(...highlighted(text, "json"));
    });
  }

  updateSpeed() {
    const run = runs.get(this.message.conversation);
    const seconds = run.begin ? (performance.now() - run.begin) / 1000 : 0;
    if (!this.speed?.isConnected) { this.speed = element("span", "speed"); this.tools.replaceChildren(this.speed); }
    this.speed.textContent = seconds > 0.5 ? `${((run.count - 1) / seconds).toFixed(1)} tokens/s` : "";
  }

  // Below the text: what went wrong, and what can be done.
  updateFoot(running) {
    const { message } = this;
    this.foot.replaceChildren();
    this.tools.replaceChildren();
    if (running) { this.updateSpeed(); return; }
    if (message.error) this.foot.append(element("p", "error", message.error));
    if (message.isCut) this.foot.append(element("p", "muted", "The text is longer than half of the context: the model read its last part."));
    if (message.calls.length && isLast(message)) this.foot.append(this.resultForm());
    this.addBranches();
    const tool = (text, action) => this.tools.append(button(text, action, "quiet"));
    if (message.role === "user") {
      tool("Edit", () => this.edit());
      if (isLast(message)) tool("Answer", () => answer(current, message.id));
    } else if (message.role === "assistant") {
      if (isLast(message) && message.content && (message.stopped || !isChat())) tool("Continue", () => answer(current, message.parent, message));
      tool("Regenerate", () => answer(current, message.parent));
      tool("Edit", () => this.edit());
    }
    const copy = button("Copy", () => copyText(message.role === "user" ? sentContent(message) : message.content, copy), "quiet");
    this.tools.append(copy);
    const words = [];
    if (message.stats?.tokens > 1) words.push(`${message.stats.tokens} tokens, ${((message.stats.tokens - 1) / Math.max(message.stats.seconds, 0.001)).toFixed(1)} tokens/s`);
    if (message.stopped === "length") words.push("ended at the limit");
    if (message.stopped === "stopped") words.push("stopped");
    if (words.length) this.tools.append(element("span", "speed", words.join(" · ")));
  }

  // ‹ 2 of 3 ›: the other versions of this message.
  addBranches() {
    const siblings = childrenOf(current, this.message.parent);
    if (siblings.length < 2) return;
    const at = siblings.indexOf(this.message);
    const go = (step, text, name) => {
      const node = button(text, () => {
        current.conversation.head = endOf(current, siblings[at + step]).id;
        store.save(current);
        draw();
      }, "quiet");
      node.setAttribute("aria-label", name);
      node.disabled = !siblings[at + step];
      return node;
    };
    this.tools.append(go(-1, "‹", "The version before"), element("span", "branch", `${at + 1} of ${siblings.length}`), go(1, "›", "The next version"));
  }

  // Where the reader gives what the called tools return.
  resultForm() {
    const { message } = this;
    const fields = message.calls.map(call => { const field = element("textarea"); field.rows = 2; field.setAttribute("aria-label", `Result of ${call.name}`); field.placeholder = `Result of ${call.name}`; return field; });
    const send = button("Send the results", async () => {
      let parent = message.id;
      for (const [index, call] of message.calls.entries()) {
        const result = addMessage(current, parent, { role: "tool", content: fields[index].value, callId: call.id });
        await store.save(current, result);
        parent = result.id;
      }
      await answer(current, parent);
    });
    return element("div", "editor", ...fields, element("div", "row", send));
  }

  // In place. What is sent becomes another version of the message; the earlier one stays.
  edit() {
    if (this.editor) { this.editor.firstChild.focus(); return; }
    const { message } = this;
    const field = element("textarea");
    field.setAttribute("aria-label", "Edit the message");
    field.value = message.content;
    const close = () => { this.editor = null; this.body.replaceChildren(); this.markdown.reset(); this.update(); };
    const done = async () => {
      const text = field.value;
      if (!text.trim() && !message.attachments.length) return;
      await stopAnswer(message.conversation);
      close();
      const fresh = addMessage(current, message.parent, { role: message.role, content: text, attachments: message.attachments, model: message.model });
      await store.save(current, fresh);
      if (message.role === "user") await answer(current, fresh.id);
      else draw();
    };
    this.editor = element("div", "editor", field, element("div", "row", button(message.role === "user" ? "Send" : "Save", done, "primary"), button("Cancel", close)));
    field.onkeydown = event => {
      if (event.key === "Escape") { event.stopPropagation(); close(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (message.role === "user" && !event.shiftKey)) && !event.isComposing) { event.preventDefault(); done(); }
    };
    this.body.hidden = false;
    this.body.classList.remove("text");
    this.body.replaceChildren(this.editor);
    field.style.height = Math.min(field.scrollHeight + 4, innerHeight * 0.6) + "px";
    field.focus();
  }
}

const isLast = message => current.conversation.head === message.id;

// Shows the current conversation; messages that are on the page already keep their nodes.
function draw() {
  const path = pathOf(current);
  const list = $("messages");
  const near = isNear();
  for (const [id, view] of views) if (!path.some(message => message.id === id)) { view.node.remove(); views.delete(id); }
  path.forEach((message, index) => {
    let view = views.get(message.id);
    if (!view) views.set(message.id, view = new MessageView(message));
    view.message = message;
    view.isRunning = false;
    if (list.children[index] !== view.node) list.insertBefore(view.node, list.children[index] || null);
    view.update();
  });
  for (const node of list.querySelectorAll(":scope > .failure, :scope > .empty")) node.remove();
  const failure = failures.get(current.conversation.id);
  if (failure) {
    list.append(element("div", "failure error", failure.text, element("div", "", button("Try again", () => answer(current, failure.parent)))));
  }
  drawEmpty();
  document.title = current.conversation.title ? `${current.conversation.title} – Wick` : "Wick";
  showGauge();
  if (near) follow();
}

function drawEmpty() {
  const list = $("messages");
  list.querySelector(":scope > .empty")?.remove();
  if (pathOf(current).length) return;
  const text = !server.isReady ? "" : isChat() ? "It remembers nothing of other conversations." : "Write the beginning of a text; the model continues it.";
  list.append(element("div", "empty", element("h2", "", server.isReady ? isChat() ? `Ask ${server.model} something` : `${server.model} continues your text` : "Wick"), element("p", "", text)));
}

// At most once a frame.
const waiting = new Set();
function drawSoon(message) {
  if (!waiting.size) requestAnimationFrame(() => {
    const near = isNear();
    for (const each of waiting) views.get(each.id)?.update();
    waiting.clear();
    showGauge();
    if (near) follow();
  });
  waiting.add(message);
}

const isNear = () => { const m = $("scroll"); return m.scrollHeight - m.scrollTop - m.clientHeight < 80; };
function follow() { const m = $("scroll"); m.scrollTop = m.scrollHeight; }
