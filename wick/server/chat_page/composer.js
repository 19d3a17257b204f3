// Where messages are written: the text, and the files that go with it.
let attachments = [];
const kPastedText = 8000;  // characters; a longer text becomes an attachment
const kLargestFile = 32e6;

function grow() { const field = $("input"); field.style.height = "auto"; field.style.height = field.scrollHeight + field.offsetHeight - field.clientHeight + "px"; }

function keepDraft() { try { sessionStorage.setItem("wick.draft", $("input").value.slice(0, 200000)); } catch { /* it lasts as long as the page */ } }

function showAttachments() {
  $("attachments").replaceChildren(...attachments.map((one, index) => {
    const remove = button("✕", () => { attachments.splice(index, 1); showAttachments(); });
    remove.setAttribute("aria-label", `Remove ${one.name}`);
    return element("span", "chip", `${one.name} · ${sizeText(one.text.length)} `, remove);
  }));
}

async function attach(files) {
  for (const file of files) {
    try { attachments.push({ name: file.name || "file.txt", text: await textOf(file) }); }
    catch (error) { notice("attach", `${file.name}: ${error.message}`, { bad: true }); }
  }
  showAttachments();
  $("input").focus();
}

async function textOf(file) {
  if (file.size > kLargestFile) throw new Error(`it has ${sizeText(file.size)}; at most ${sizeText(kLargestFile)} can be attached.`);
  if (file.type.startsWith("image/") && file.type !== "image/svg+xml") throw new Error("this server’s models read text, not images.");
  const bytes = await file.arrayBuffer();
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { throw new Error("it is not text in UTF-8."); }
  if (text.includes("\0")) throw new Error("it is not a text.");
  return text;
}

function submit() {
  const text = $("input").value;
  if (!text.trim() && !attachments.length) return;
  if (isRunning(current.conversation.id)) { announce("The answer is still being written: Stop ends it."); return; }
  const entry = current;
  const message = addMessage(entry, entry.conversation.head, { role: "user", content: text, attachments });
  $("input").value = "";
  attachments = [];
  keepDraft();
  showAttachments();
  grow();
  if (location.hash !== "#" + entry.conversation.id) history.replaceState(null, "", "#" + entry.conversation.id);
  store.save(entry, message).then(refreshHistory);
  answer(entry, message.id);
}

function bindComposer() {
  const input = $("input");
  $("form").onsubmit = event => {
    event.preventDefault();
    if (isRunning(current.conversation.id)) stopAnswer(current.conversation.id); else submit();
  };
  input.oninput = () => { grow(); keepDraft(); };
  input.onkeydown = event => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
    if (event.key === "ArrowUp" && !input.value) {
      const last = pathOf(current).findLast(message => message.role === "user");
      if (last) { event.preventDefault(); views.get(last.id)?.edit(); }
    }
  };
  input.onpaste = event => {
    const { files } = event.clipboardData;
    if (files.length) { event.preventDefault(); attach(files); return; }
    const text = event.clipboardData.getData("text/plain");
    if (text.length <= kPastedText) return;
    event.preventDefault();
    attachments.push({ name: "pasted.txt", text });
    showAttachments();
  };
  $("attach").onclick = () => $("attach-file").click();
  $("attach-file").onchange = () => { attach($("attach-file").files).then(() => { $("attach-file").value = ""; }); };
  const hasFiles = event => [...event.dataTransfer?.types || []].includes("Files");
  document.addEventListener("dragover", event => { if (hasFiles(event)) { event.preventDefault(); document.body.classList.add("dropping"); } });
  document.addEventListener("dragleave", event => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", event => { document.body.classList.remove("dropping"); if (hasFiles(event)) { event.preventDefault(); attach(event.dataTransfer.files); } });
  try { input.value = sessionStorage.getItem("wick.draft") || ""; } catch { /* as above */ }
}
