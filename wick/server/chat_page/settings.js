// What the reader set; an empty field leaves the value to the server.
const kSamplers = [
  ["temperature", "Temperature", 0, 2, 0.05], ["top_k", "Top-k", 0, null, 1], ["top_p", "Top-p", 0, 1, 0.01], ["min_p", "Min-p", 0, 1, 0.01],
  ["typical_p", "Typical-p", 0, 1, 0.01], ["top_n_sigma", "Top-n-sigma", 0, 100, 0.1], ["xtc_probability", "XTC probability", 0, 1, 0.01],
  ["xtc_threshold", "XTC threshold", 0, 1, 0.01], ["repeat_penalty", "Repetition penalty", 0, 2, 0.01], ["repeat_last_n", "Repetition window", -1, null, 1],
  ["presence_penalty", "Presence penalty", -2, 2, 0.05], ["frequency_penalty", "Frequency penalty", -2, 2, 0.05], ["dry_multiplier", "DRY multiplier", 0, 100, 0.1],
  ["dry_base", "DRY base", 1, 100, 0.05], ["dry_allowed_length", "DRY length", 1, null, 1], ["dry_penalty_last_n", "DRY window", -1, null, 1],
  ["mirostat", "Mirostat", 0, 2, 1], ["mirostat_tau", "Mirostat tau", 0, 20, 0.1], ["mirostat_eta", "Mirostat eta", 0, 1, 0.01],
  ["max_tokens", "Max tokens", 1, null, 1], ["seed", "Seed", null, null, 1],
].map(([name, label, min, max, step]) => ({ name, label, min, max, step }));

const settings = { system: "", mode: "", theme: "", stop: "", schema: "", tools: "", adapter: "", keep_key: false };
for (const { name } of kSamplers) settings[name] = "";

const kKeys = [["Enter", "send"], ["Shift+Enter", "begin a line"], ["Esc", "stop the answer"], ["↑ in an empty message", "edit the last one"], ["Ctrl+Shift+O", "new chat"], ["Ctrl+K", "search conversations"], ["Ctrl+B", "show or hide the list"], ["Ctrl+,", "settings"]];

function readSettings() {
  try {
    const stored = JSON.parse(localStorage.getItem("wick.settings.2") || "{}");
    for (const name of Object.keys(settings)) if (typeof stored[name] === typeof settings[name]) settings[name] = stored[name];
    key = sessionStorage.getItem("wick.key") || localStorage.getItem("wick.key") || "";
  } catch { /* private windows keep nothing */ }
}
function keepSettings() { try { localStorage.setItem("wick.settings.2", JSON.stringify(settings)); } catch { /* as above */ } }
// For this tab, and for the browser where the reader says so.
function keepKey() {
  try {
    sessionStorage.setItem("wick.key", key);
    if (settings.keep_key) localStorage.setItem("wick.key", key); else localStorage.removeItem("wick.key");
  } catch { /* as above */ }
}

function theme() { if (settings.theme) document.documentElement.dataset.theme = settings.theme; else delete document.documentElement.dataset.theme; }

// The server's values stand in the empty fields.
function showDefaults() {
  for (const { name } of kSamplers) {
    const value = server.defaults[name];
    $(name).placeholder = name === "max_tokens" ? (server.defaults.n_predict > 0 ? String(server.defaults.n_predict) : "what is left")
      : name === "seed" ? (value === undefined || value === -1 || value > 1e15 ? "random" : String(value)) : typeof value === "number" ? String(Number(value.toPrecision(6))) : "";
  }
}

function bindSettings() {
  $("samplers").append(...kSamplers.map(({ name, label, min, max, step }) => {
    const field = element("input");
    Object.assign(field, { id: name, type: "number", step });
    if (min !== null) field.min = min;
    if (max !== null) field.max = max;
    return element("label", "", label, field);
  }));
  $("keys").append(...kKeys.flatMap(([keys, what]) => [element("dt", "", keys), element("dd", "", what)]));
  for (const name of Object.keys(settings)) {
    const field = $(name);
    if (!field || name === "adapter") continue;
    const isCheck = field.type === "checkbox";
    if (isCheck) field.checked = settings[name]; else field.value = settings[name];
    field.oninput = () => {
      settings[name] = isCheck ? field.checked : field.value;
      keepSettings();
      theme();
      if (name === "mode") { drawEmpty(); draw(); }
      if (name === "keep_key") keepKey();
    };
  }
  $("adapter").onchange = () => { settings.adapter = $("adapter").value; keepSettings(); };
  $("key").value = key;
  $("key").oninput = () => { key = $("key").value; keepKey(); };
  $("key").onchange = () => connect();
  $("settings-reset").onclick = () => {
    for (const { name } of kSamplers) $(name).value = settings[name] = "";
    $("stop").value = settings.stop = "";
    keepSettings();
  };
  $("settings-open").onclick = () => $("settings").showModal();
}
