// The conversation that is shown: a path through its tree of messages.
const newConversation = () => ({ conversation: { id: randomId(), title: "", created: Date.now(), updated: Date.now(), head: null }, messages: new Map() });

// From the first message to `head`.
function pathOf(entry, head = entry.conversation.head) {
  const path = [];
  for (let message = entry.messages.get(head); message; message = entry.messages.get(message.parent)) path.unshift(message);
  return path;
}

const childrenOf = (entry, parent) => [...entry.messages.values()].filter(m => m.parent === parent).sort((a, b) => a.created - b.created);

// The end of the branch below a message: at each step the newest.
function endOf(entry, message) {
  for (let next = message; next; next = childrenOf(entry, next.id).at(-1)) message = next;
  return message;
}

function addMessage(entry, parent, fields) {
  const message = {
    id: randomId(), conversation: entry.conversation.id, parent, content: "", reasoning: "", calls: [], attachments: [], created: Date.now(), ...fields,
  };
  // Two messages of one millisecond keep their order.
  const last = childrenOf(entry, parent).at(-1);
  if (last && last.created >= message.created) message.created = last.created + 1;
  entry.messages.set(message.id, message);
  entry.conversation.head = message.id;
  entry.conversation.updated = Date.now();
  if (!entry.conversation.title && message.role === "user") entry.conversation.title = titleOf(message);
  return message;
}

const titleOf = message => (message.content.trim().split("\n")[0] || message.attachments[0]?.name || "New chat").slice(0, 80);

// A message as the server gets it: files follow the text, fenced so that a fence in them does not end them.
function sentContent(message) {
  const parts = message.content ? [message.content] : [];
  for (const { name, text } of message.attachments) {
    const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(m => m[0].length));
    const fence = "`".repeat(longest + 1);
    parts.push(`${name}:\n${fence}\n${text.replace(/\n$/, "")}\n${fence}`);
  }
  return parts.join("\n\n");
}

// The messages of a request. Answers that failed before their first word are left out.
function sentMessages(path) {
  const messages = settings.system.trim() ? [{ role: "system", content: settings.system }] : [];
  for (const message of path) {
    if (message.role === "user") messages.push({ role: "user", content: sentContent(message) });
    else if (message.role === "tool") messages.push({ role: "tool", content: message.content, tool_call_id: message.callId });
    else if (message.calls.length) messages.push({ role: "assistant", content: message.content, tool_calls: message.calls.map(c => ({ id: c.id, type: "function", function: { name: c.name, arguments: c.arguments || "{}" } })) });
    else if (message.content) messages.push({ role: "assistant", content: message.content });
  }
  return messages;
}
