// Conversations, kept in the browser (IndexedDB). A conversation is a tree of messages: each names its parent, `head` is the last message of
// the branch that is shown. What the browser refuses to keep stays in memory as long as the page is open, and the page says so.
class Store {
  constructor() {
    this.database = null;
    this.memory = new Map();  // id → {conversation, messages: Map}: what this page has read or changed
    this.channel = typeof BroadcastChannel === "function" ? new BroadcastChannel("wick") : null;
    this.onChange = () => {};
    if (this.channel) this.channel.onmessage = event => this.changedElsewhere(event.data);
  }

  // Never fails: without a database everything stays in memory.
  async open() {
    try {
      this.database = await new Promise((resolve, reject) => {
        const request = indexedDB.open("wick", 1);
        const late = setTimeout(() => reject(new Error("the database does not open")), 4000);
        request.onupgradeneeded = () => {
          request.result.createObjectStore("conversations", { keyPath: "id" });
          request.result.createObjectStore("messages", { keyPath: "id" }).createIndex("conversation", "conversation");
        };
        request.onsuccess = () => { clearTimeout(late); resolve(request.result); };
        request.onerror = () => { clearTimeout(late); reject(request.error); };
      });
      this.database.onversionchange = () => this.database.close();
    } catch (error) { this.refused(error); }
  }

  refused(error) {
    this.isRefused = true;
    notice("store", `This browser does not keep the conversations (${error?.message || error?.name || "no database"}): they last until the page is closed. Export keeps them in a file.`, { bad: true });
  }

  // Runs work(stores…) in one transaction and returns what its request gives.
  transaction(mode, work) {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(["conversations", "messages"], mode);
      const request = work(transaction.objectStore("conversations"), transaction.objectStore("messages"));
      transaction.oncomplete = () => resolve(request?.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error || request?.error || new Error("the database failed"));
    });
  }
  async write(work) {
    if (!this.database) return;
    try { await this.transaction("readwrite", work); } catch (error) { this.refused(error); }
  }

  // Without their messages, the newest first.
  async list() {
    const all = new Map();
    if (this.database) {
      try { for (const one of await this.transaction("readonly", c => c.getAll())) all.set(one.id, one); } catch (error) { this.refused(error); }
    }
    for (const [id, { conversation }] of this.memory) all.set(id, conversation);
    return [...all.values()].sort((a, b) => b.updated - a.updated);
  }

  // A conversation with its messages, or null.
  async load(id) {
    if (this.memory.has(id)) return this.memory.get(id);
    if (!this.database) return null;
    try {
      const conversation = await this.transaction("readonly", c => c.get(id));
      if (!conversation) return null;
      const messages = await this.transaction("readonly", (c, m) => m.index("conversation").getAll(id));
      if (!this.memory.has(id)) this.memory.set(id, { conversation, messages: new Map(messages.map(m => [m.id, m])) });
      return this.memory.get(id);
    } catch (error) { this.refused(error); return null; }
  }

  async save(entry, ...messages) {
    const { conversation } = entry;
    this.memory.set(conversation.id, entry);
    for (const message of messages) entry.messages.set(message.id, message);
    await this.write((c, m) => { c.put(conversation); for (const message of messages) m.put(message); });
    this.channel?.postMessage({ id: conversation.id });
  }

  async removeMessage(conversation, message) {
    this.memory.get(conversation.id)?.messages.delete(message.id);
    await this.write((c, m) => { c.put(conversation); m.delete(message.id); });
    this.channel?.postMessage({ id: conversation.id });
  }

  async remove(id) {
    this.memory.delete(id);
    await this.write((c, m) => {
      c.delete(id);
      m.index("conversation").openKeyCursor(IDBKeyRange.only(id)).onsuccess = event => {
        const cursor = event.target.result;
        if (cursor) { m.delete(cursor.primaryKey); cursor.continue(); }
      };
    });
    this.channel?.postMessage({ id });
  }

  // Another page of this server wrote: whatever is not being answered here is read again.
  changedElsewhere({ id }) {
    if (this.isRefused) return;
    if (!isRunning(id)) this.memory.delete(id);
    this.onChange(id);
  }

  // What holds the text, in any case: [conversation, the words around it or ""].
  async search(text) {
    const wanted = text.toLowerCase();
    const conversations = await this.list();
    const hits = new Map();
    const look = message => {
      if (hits.has(message.conversation)) return;
      const at = message.content.toLowerCase().indexOf(wanted);
      if (at >= 0) hits.set(message.conversation, message.content.slice(Math.max(0, at - 30), at + 60).replace(/\s+/g, " "));
    };
    for (const { messages } of this.memory.values()) for (const message of messages.values()) look(message);
    if (this.database) {
      await this.transaction("readonly", (c, m) => {
        m.openCursor().onsuccess = event => { const cursor = event.target.result; if (cursor) { look(cursor.value); cursor.continue(); } };
      }).catch(error => this.refused(error));
    }
    return conversations.flatMap(one => hits.has(one.id) ? [[one, hits.get(one.id)]] : one.title.toLowerCase().includes(wanted) ? [[one, ""]] : []);
  }

  // Text of a file with these conversations.
  async exported(ids) {
    const conversations = [];
    for (const id of ids) {
      const entry = await this.load(id);
      if (entry) conversations.push({ ...entry.conversation, messages: [...entry.messages.values()] });
    }
    return JSON.stringify({ format: "wick-conversations", version: 1, conversations }, null, 1);
  }

  // Adds what exported() wrote; conversations that are here get the messages that they lack. Errors: what is wrong with the text.
  async imported(text) {
    let json;
    try { json = JSON.parse(text); } catch (error) { throw new Error("it is not JSON: " + error.message); }
    if (json?.format !== "wick-conversations" || !Array.isArray(json.conversations)) throw new Error("it does not hold conversations of this page");
    if (json.version !== 1) throw new Error(`its version is ${json.version}; this page reads version 1`);
    const read = json.conversations.map(importedConversation);
    for (const [conversation, messages] of read) {
      const here = await this.load(conversation.id);
      const added = messages.filter(message => !here?.messages.has(message.id));
      await this.save(here || { conversation, messages: new Map() }, ...added);
    }
    return read.length;
  }
}

// Keeps the fields that the page knows, of the kinds that it writes.
function importedConversation(json, index) {
  const wrong = what => new Error(`conversation ${index + 1}: ${what}`);
  const text = value => typeof value === "string" ? value : "";
  const number = value => Number.isFinite(value) ? value : 0;
  if (!json || typeof json !== "object" || !text(json.id) || !Array.isArray(json.messages)) throw wrong("it has no id or no messages");
  const messages = json.messages.map((one, n) => {
    if (!one || !text(one.id) || !["user", "assistant", "tool"].includes(one.role) || typeof one.content !== "string") throw wrong(`message ${n + 1} has no id, role or text`);
    const list = (value, keep) => Array.isArray(value) ? value.filter(x => x && typeof x === "object").map(keep) : [];
    return {
      id: one.id, conversation: json.id, parent: text(one.parent) || null, role: one.role, content: one.content, reasoning: text(one.reasoning),
      created: number(one.created), model: text(one.model), stopped: text(one.stopped), error: text(one.error), callId: text(one.callId),
      attachments: list(one.attachments, a => ({ name: text(a.name), text: text(a.text) })),
      calls: list(one.calls, c => ({ id: text(c.id), name: text(c.name), arguments: text(c.arguments) })),
      stats: one.stats && typeof one.stats === "object" ? { used: number(one.stats.used), tokens: number(one.stats.tokens), seconds: number(one.stats.seconds) } : null,
    };
  });
  const ids = new Set(messages.map(message => message.id));
  for (const message of messages) if (message.parent && !ids.has(message.parent)) throw wrong("a message names a parent that is not in the file");
  const parents = new Map(messages.map(message => [message.id, message.parent]));
  for (const start of ids) for (let at = start, steps = 0; at; at = parents.get(at)) if (++steps > ids.size) throw wrong("its messages form a circle");
  const head = ids.has(json.head) ? json.head : messages.at(-1)?.id ?? null;
  return [{ id: json.id, title: text(json.title) || "Imported", created: number(json.created), updated: number(json.updated), head }, messages];
}
