// The page's beginning.
const store = new Store();
let current = newConversation();

// On a narrow screen the list lies over the conversation and is hidden until it is asked for.
const isNarrow = () => matchMedia("(max-width: 48rem)").matches;
function toggleHistory() { document.body.classList.toggle(isNarrow() ? "with-history" : "no-history"); }
function showHistory() {
  if (isNarrow()) document.body.classList.add("with-history"); else document.body.classList.remove("no-history");
}

function bindKeys() {
  document.addEventListener("keydown", event => {
    const control = event.ctrlKey || event.metaKey;
    const pressed = event.key.toLowerCase();
    if (event.key === "Escape" && !$("settings").open) {
      if (document.querySelector(".popup")) closeMenus();
      else if (isNarrow() && document.body.classList.contains("with-history")) toggleHistory();
      else stopAnswer(current.conversation.id);
    } else if (control && event.shiftKey && pressed === "o") { event.preventDefault(); startConversation(); }
    else if (control && !event.shiftKey && pressed === "k") {
      event.preventDefault();
      showHistory();
      $("search").focus();
    } else if (control && !event.shiftKey && pressed === "b") { event.preventDefault(); toggleHistory(); }
    else if (control && pressed === ",") { event.preventDefault(); if (!$("settings").open) $("settings").showModal(); }
  });
}

function bindHistory() {
  $("new").onclick = () => { document.body.classList.remove("with-history"); startConversation(); };
  $("history-open").onclick = toggleHistory;
  $("history-close").onclick = $("shade").onclick = () => document.body.classList.remove("with-history");
  let typed = 0;
  $("search").oninput = () => { clearTimeout(typed); typed = setTimeout(refreshHistory, 150); };
  $("export").onclick = async () => exportConversations((await store.list()).map(one => one.id), "wick-conversations");
  $("import").onclick = () => $("import-file").click();
  $("import-file").onchange = async () => { const [file] = $("import-file").files; if (file) await importConversations(file); $("import-file").value = ""; };
  document.addEventListener("click", event => { if (!event.target.closest(".popup")) closeMenus(); });
  addEventListener("popstate", () => openFromAddress());
  store.onChange = async id => {
    refreshHistory();
    if (id !== current.conversation.id || isRunning(id)) return;
    const entry = await store.load(id);
    if (entry && id === current.conversation.id && !isRunning(id)) { current = entry; draw(); showRunning(); }
  };
}

function openFromAddress() {
  const id = location.hash.slice(1);
  if (id) return openConversation(id, true);
  showConversation(newConversation());
}

async function begin() {
  readSettings();
  theme();
  bindSettings();
  bindComposer();
  bindHistory();
  bindKeys();
  $("scroll").onscroll = () => { $("to-end").hidden = isNear(); };
  $("to-end").onclick = follow;
  addEventListener("beforeunload", event => { if (store.isRefused && pathOf(current).length) event.preventDefault(); });
  grow();
  draw();
  connect();
  await store.open();
  await openFromAddress();
  refreshHistory();
  document.documentElement.dataset.ready = "";
}
begin();
