// What the server says: its model, its defaults, its answers.
const server = { model: "", adapters: [], context: 0, defaults: {}, hasTemplate: true, isReady: false };
let key = "";

function headers() {
  const fields = { "Content-Type": "application/json" };
  if (key) fields.Authorization = "Bearer " + key;
  return fields;
}

async function errorOf(response) {
  const json = await response.json().catch(() => null);
  const error = json?.error;
  const text = typeof error === "string" ? error : error?.message || json?.message || `${response.status} ${response.statusText}`;
  if (response.status === 401) return new Error(text + " (Settings: API key)");
  return new Error(text);
}

let connecting = 0;
// Asks until the model is ready.
async function connect() {
  const attempt = ++connecting;
  const again = milliseconds => setTimeout(() => { if (attempt === connecting) connect(); }, milliseconds);
  const say = (text, after) => { server.isReady = false; $("model").textContent = text; if (after) again(after); };
  try {
    const response = await fetch("v1/models", { headers: headers() });
    if (attempt !== connecting) return;
    if (response.status === 401 || response.status === 403) return say(key ? "the API key is wrong: Settings" : "needs an API key: Settings");
    if (!response.ok) return say((await errorOf(response)).message, 2000);
    const models = (await response.json()).data || [];
    if (!models.length) return say("the model is loading …", 500);
    const props = await fetch("props", { headers: headers() });
    if (props.ok) readProps(await props.json());
    if (attempt !== connecting) return;
    server.model = models[0].id;
    server.adapters = models.slice(1).map(one => one.id);
    server.context ||= models[0].max_model_len || 0;
    server.isReady = true;
    closeNotice("server");
    showServer();
  } catch { say("the server does not answer", 2000); }
}

function readProps(props) {
  const settings = props.default_generation_settings || {};
  server.context = settings.n_ctx || 0;
  server.defaults = settings.params || {};
  server.hasTemplate = props.chat_template !== "";
}

function showServer() {
  const picker = $("adapter");
  const names = [server.model, ...server.adapters];
  picker.replaceChildren(...names.map(name => { const option = element("option", "", name); option.value = name; return option; }));
  picker.hidden = names.length < 2;
  picker.value = names.includes(settings.adapter) ? settings.adapter : server.model;
  $("model").textContent = picker.hidden ? server.model : "";
  $("model").title = `${server.model}, context ${server.context} tokens`;
  showDefaults();
  sayMode();
  drawEmpty();
  showGauge();
}

const isChat = () => settings.mode === "chat" || (settings.mode === "" && server.hasTemplate);
function sayMode() {
  if (!server.isReady || server.hasTemplate || settings.mode !== "" || sayMode.said) return;
  sayMode.said = true;
  notice("mode", "This model has no chat template: it does not answer, it continues the text that you write.");
}

// The events of a stream until its end. Errors: the connection that ends before.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", isComplete = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
      const data = rest.slice(0, end).split("\n").filter(l => l.startsWith("data: ")).map(l => l.slice(6)).join("\n");
      if (data === "[DONE]") isComplete = true;
      else if (data) yield JSON.parse(data);
    }
  }
  if (!isComplete) throw new TypeError("the stream ended early");
}

// How many tokens a conversation, or a text, has; 0 where the server does not say.
async function countTokens(body, signal) {
  const post = async (path, json) => {
    const response = await fetch(path, { method: "POST", headers: headers(), signal, body: JSON.stringify(json) });
    return response.ok ? await response.json() : {};
  };
  if (body.messages) return (await post("v1/chat/completions/input_tokens", { messages: body.messages, tools: body.tools })).input_tokens || 0;
  return (await post("tokenize", { content: body.prompt, add_special: true, parse_special: false })).tokens?.length || 0;
}
