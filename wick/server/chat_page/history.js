// The list of conversations.
let shown = 0;  // the number of the latest list; an earlier one that comes late is dropped

async function refreshHistory() {
  const own = ++shown;
  const text = $("search").value.trim();
  const found = text ? await store.search(text) : (await store.list()).map(one => [one, ""]);
  if (own !== shown || $("conversations").querySelector("input")) return;
  $("conversations").replaceChildren(...found.map(([one, hit]) => historyItem(one, hit)));
  $("history-empty").textContent = found.length ? "" : text ? `Nothing has “${text}”.` : "Conversations are kept in this browser.";
}

function historyItem(conversation, hit) {
  const open = button(conversation.title || "New chat", () => { openConversation(conversation.id); document.body.classList.remove("with-history"); }, "open");
  if (hit) open.append(element("span", "hit", hit));
  open.classList.toggle("running", isRunning(conversation.id));
  open.title = conversation.title;
  const item = element("li", conversation.id === current.conversation.id ? "current" : "", open);
  item.dataset.id = conversation.id;
  const menu = button("⋯", event => { event.stopPropagation(); openMenu(item, conversation); }, "quiet menu");
  menu.setAttribute("aria-label", `Rename, export or delete ${conversation.title}`);
  menu.setAttribute("aria-haspopup", "menu");
  item.append(menu);
  return item;
}

function openMenu(item, conversation) {
  const isOpen = item.querySelector(".popup");
  closeMenus();
  if (isOpen) return;
  const popup = element("div", "popup",
    button("Rename", () => rename(item, conversation)),
    button("Export", async () => exportConversations([conversation.id], conversation.title)),
    button("Delete", () => deleteConversation(conversation)));
  item.append(popup);
  popup.firstChild.focus();
}
function closeMenus() { for (const popup of document.querySelectorAll(".popup")) popup.remove(); }

function rename(item, conversation) {
  closeMenus();
  const field = element("input");
  field.value = conversation.title;
  field.setAttribute("aria-label", "Name of the conversation");
  item.replaceChildren(field);
  field.select();
  let isOver = false;
  const end = async isKept => {
    if (isOver) return;
    isOver = true;
    const title = field.value.trim();
    field.remove();
    if (isKept && title) {
      const entry = await store.load(conversation.id);
      if (entry) { entry.conversation.title = title; await store.save(entry); }
      if (current.conversation.id === conversation.id) draw();
    }
    refreshHistory();
  };
  field.onkeydown = event => { if (event.key === "Enter") end(true); if (event.key === "Escape") { event.stopPropagation(); end(false); } };
  field.onblur = () => end(true);
}

async function deleteConversation(conversation) {
  closeMenus();
  const entry = await store.load(conversation.id);
  const run = runs.get(conversation.id);
  if (run) { run.isDropped = true; run.control.abort(); await run.done; }
  await store.remove(conversation.id);
  if (current.conversation.id === conversation.id) startConversation();
  refreshHistory();
  notice("deleted", `“${conversation.title}” is deleted.`, { seconds: 15, action: ["Undo", async () => { await store.save(entry, ...entry.messages.values()); refreshHistory(); }] });
}

async function exportConversations(ids, name) {
  closeMenus();
  download(`${(name || "wick").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40)}.json`, await store.exported(ids));
}

async function importConversations(file) {
  try {
    const count = await store.imported(await file.text());
    notice("import", `${file.name}: ${count} ${count === 1 ? "conversation" : "conversations"} imported.`, { seconds: 8 });
  } catch (error) { notice("import", `${file.name}: nothing was imported: ${error.message}.`, { bad: true }); }
  refreshHistory();
}

function showConversation(entry) {
  current = entry;
  views.clear();
  $("messages").replaceChildren();
  draw();
  showRunning();
  follow();
  for (const item of $("conversations").children) item.classList.toggle("current", item.dataset.id === entry.conversation.id);
}

function startConversation() {
  if (location.hash) history.pushState(null, "", location.pathname);
  showConversation(newConversation());
  $("input").focus();
}

async function openConversation(id, isBack = false) {
  const entry = await store.load(id);
  if (!entry) {
    if (!isBack) notice("missing", "This conversation is not kept in this browser.");
    return startConversation();
  }
  if (!isBack && location.hash !== "#" + id) history.pushState(null, "", "#" + id);
  showConversation(entry);
  $("input").focus();
}
