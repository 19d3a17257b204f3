// Answers as they come. One at a time in a conversation; others may go on while their conversation is not shown.
const runs = new Map();  // conversation id → {entry, message, control, done, count}
const failures = new Map();  // conversation id → {parent, text}: why the message `parent` has no answer
const isRunning = id => runs.has(id);

// Ends the answer of a conversation and waits until what came of it is kept.
async function stopAnswer(id) {
  const run = runs.get(id);
  if (!run) return;
  run.control.abort();
  await run.done;
}

function jsonSetting(name, label) {
  const text = settings[name].trim();
  if (!text) return undefined;
  try { return JSON.parse(text); } catch (error) { throw new Error(`Settings: ${label} is not JSON: ${error.message}`); }
}

// Only what was set here; the rest is the server's.
function samplingFields() {
  const fields = {};
  for (const { name } of kSamplers) if (settings[name] !== "" && Number.isFinite(Number(settings[name]))) fields[name] = Number(settings[name]);
  const stop = settings.stop.split("\n").filter(line => line !== "");
  if (stop.length) fields.stop = stop;
  return fields;
}

function requestBody(entry, message, isContinued) {
  const path = pathOf(entry, isContinued ? message.id : message.parent);
  const body = { model: $("adapter").value || server.model || undefined, ...samplingFields(), stream: true, stream_options: { include_usage: true } };
  const schema = jsonSetting("schema", "the JSON schema"), tools = jsonSetting("tools", "the list of tools");
  if (schema !== undefined) body.response_format = { type: "json_schema", json_schema: { name: "answer", schema } };
  if (!isChat()) return { ...body, prompt: path.map(sentContent).join("") };
  if (tools !== undefined) body.tools = tools;
  if (isContinued) body.continue_final_message = true;
  return { ...body, messages: sentMessages(path) };
}

// max_tokens is what is left of the context, or less where a setting says so. A text that is longer than half of the context is continued
// from its last half.
async function fitIntoContext(body, message, signal) {
  const wanted = body.max_tokens ?? (server.defaults.n_predict > 0 ? server.defaults.n_predict : undefined);
  if (body.messages) {
    if (body.max_tokens === undefined) return;
    const left = server.context - await countTokens(body, signal);
    if (left > 0 && left < server.context) body.max_tokens = Math.min(body.max_tokens, left);
    return;
  }
  let tokens = await countTokens(body, signal);
  const most = Math.floor(server.context / 2);
  message.isCut = tokens > most && most > 0;
  while (tokens > most && most > 0) {
    const kept = Math.floor(body.prompt.length * Math.min(0.98, most / tokens));
    body.prompt = body.prompt.slice(-kept).replace(/^[\uDC00-\uDFFF]/, "");
    tokens = await countTokens(body, signal);
  }
  const left = server.context ? server.context - tokens : -1;
  body.max_tokens = left > 0 ? Math.min(wanted ?? left, left) : wanted ?? -1;
}

// Answers the message `parent`, or goes on with the answer `continued`.
async function answer(entry, parent, continued = null) {
  const id = entry.conversation.id;
  // Whoever waited for the same answer to end may have begun the next one.
  while (runs.has(id)) await stopAnswer(id);
  failures.delete(id);
  const before = entry.conversation.head;
  const message = continued || addMessage(entry, parent, { role: "assistant", model: $("adapter").value || server.model });
  const run = { entry, message, control: new AbortController(), count: 0, begin: 0 };
  message.error = message.stopped = "";
  runs.set(id, run);
  run.done = stream(run, continued !== null, before);
  showRunning();
  draw();
  follow();
  await run.done;
}

async function stream(run, isContinued, before) {
  const { entry, message, control } = run;
  let failure = "";
  let body;
  const length = message.content.length;
  try {
    body = requestBody(entry, message, isContinued);
    await fitIntoContext(body, message, control.signal);
    const path = body.messages ? "v1/chat/completions" : "v1/completions";
    const response = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal: control.signal });
    if (!response.ok) throw await errorOf(response);
    await readAnswer(run, response);
  } catch (error) {
    if (control.signal.aborted) message.stopped = "stopped";
    else {
      failure = error instanceof TypeError ? brokenText(message.content.length > length) : error.message;
      if (error instanceof TypeError) connect();
    }
  }
  const id = entry.conversation.id;
  runs.delete(id);
  if (run.isDropped) return;
  if (message.content || message.reasoning || message.calls.length) {
    message.error = failure;
    if (failure) message.stopped = "failed";
    if (run.begin && run.count > 1) message.stats = { used: 0, ...message.stats, seconds: (performance.now() - run.begin) / 1000, tokens: run.tokens ?? run.count };
    await store.save(entry, message);
  } else {
    entry.messages.delete(message.id);
    entry.conversation.head = entry.messages.has(before) ? before : message.parent;
    if (failure) failures.set(id, { parent: message.parent, text: failure });
    await store.removeMessage(entry.conversation, message);
  }
  showRunning();
  if (current.conversation.id === id) {
    draw();
    announce(failure || "The answer is complete.");
  }
  refreshHistory();
}

const brokenText = isBegun => isBegun ? "The server went away in the middle of the answer. What came of it is kept." : "The server does not answer. Your message is kept.";

async function readAnswer(run, response) {
  const { message, entry } = run;
  let kept = performance.now();
  for await (const event of events(response)) {
    if (event.error) throw new Error(event.error.message || "the server failed");
    if (event.usage) {
      run.tokens = event.usage.completion_tokens;
      message.stats = { ...message.stats, used: event.usage.total_tokens };
    }
    const choice = event.choices?.[0];
    if (!choice) continue;
    const delta = choice.delta || { content: choice.text };
    if (delta.content || delta.reasoning_content || delta.tool_calls) { run.begin ||= performance.now(); ++run.count; }
    message.content += delta.content || "";
    message.reasoning += delta.reasoning_content || "";
    for (const call of delta.tool_calls || []) addCall(message, call);
    if (choice.finish_reason && choice.finish_reason !== "stop") message.stopped = choice.finish_reason;
    drawSoon(message);
    // A page that is closed in the middle of an answer keeps most of it.
    if (performance.now() - kept > 1000) { kept = performance.now(); store.save(entry, message); }
  }
}

function addCall(message, { index = 0, id, function: called }) {
  const call = message.calls[index] ||= { id: "", name: "", arguments: "" };
  if (id) call.id = id;
  call.name += called?.name || "";
  call.arguments += called?.arguments || "";
}

// The buttons and the list say which conversations are being answered.
function showRunning() {
  const running = isRunning(current.conversation.id);
  $("send").textContent = running ? "Stop" : "Send";
  $("send").classList.toggle("primary", !running);
  for (const item of $("conversations").children) item.querySelector(".open")?.classList.toggle("running", isRunning(item.dataset.id));
  showGauge();
}

function showGauge() {
  const path = pathOf(current);
  const last = path.findLast(message => message.stats?.used);
  const run = runs.get(current.conversation.id);
  const used = (last?.stats.used || 0) + (run ? run.count : 0);
  $("gauge").hidden = !server.context || !used;
  if ($("gauge").hidden) return;
  $("gauge-meter").value = used / server.context;
  $("gauge-text").textContent = `${used.toLocaleString("en")} of ${server.context.toLocaleString("en")}`;
  $("gauge").title = `${used} of the context's ${server.context} tokens`;
}
