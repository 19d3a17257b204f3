// Markdown as nodes, for pages built without the libraries: headings, lists of one level, quotes, code, tables, emphasis, links.
function plainInline(text, parent) {
  const pattern = /(`+)([\s\S]+?)\1|\*\*([^*]+?)\*\*|\*([^*\s][^*]*?)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;
  let at = 0;
  for (let m; (m = pattern.exec(text)); at = pattern.lastIndex) {
    parent.append(text.slice(at, m.index));
    let node;
    if (m[2] !== undefined) node = element("code", "", m[2]);
    else if (m[3] !== undefined) { node = element("strong"); plainInline(m[3], node); }
    else if (m[4] !== undefined) { node = element("em"); plainInline(m[4], node); }
    else { node = element("a", "", m[5]); node.href = m[6]; node.rel = "noreferrer noopener"; node.target = "_blank"; }
    parent.append(node);
  }
  parent.append(text.slice(at));
}

function plainMarkdown(text) {
  const out = document.createDocumentFragment();
  const lines = text.split("\n");
  const add = (name, parent = out) => { const node = element(name); parent.append(node); return node; };
  const isItem = line => /^\s*([-*+]|\d+[.)]) /.test(line);
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = line.match(/^\s*(```+|~~~+)\s*(\S*)/);
    if (fence) {
      const body = [];
      for (++i; i < lines.length && !lines[i].trim().startsWith(fence[1]); ++i) body.push(lines[i]);
      ++i;
      out.append(codeBlock(body.join("\n"), fence[2]));
    } else if (/^#{1,6} /.test(line)) {
      plainInline(line.replace(/^#+ /, ""), add("h" + Math.min(6, line.match(/^#+/)[0].length)));
      ++i;
    } else if (isItem(line)) {
      const number = line.match(/^\s*(\d+)/);
      const list = add(number ? "ol" : "ul");
      if (number) list.start = Number(number[1]);
      while (i < lines.length && isItem(lines[i])) plainInline(lines[i++].replace(/^\s*([-*+]|\d+[.)]) /, ""), add("li", list));
    } else if (/^> ?/.test(line)) {
      const body = [];
      while (i < lines.length && /^> ?/.test(lines[i])) body.push(lines[i++].replace(/^> ?/, ""));
      add("blockquote").append(plainMarkdown(body.join("\n")));
    } else if (/^\|.*\|\s*$/.test(line) && /^\|[\s:|-]+\|\s*$/.test(lines[i + 1] || "")) {
      const table = add("table", add("div"));
      table.parentNode.className = "table";
      const cells = row => row.trim().slice(1, -1).split("|");
      const head = add("tr", table);
      for (const cell of cells(line)) plainInline(cell.trim(), add("th", head));
      for (i += 2; i < lines.length && /^\|.*\|\s*$/.test(lines[i]); ++i) { const row = add("tr", table); for (const cell of cells(lines[i])) plainInline(cell.trim(), add("td", row)); }
    } else if (line.trim() === "") {
      ++i;
    } else {
      const body = [];
      while (i < lines.length && lines[i].trim() !== "" && !/^\s*(```|~~~)|^#{1,6} |^> ?/.test(lines[i]) && !isItem(lines[i])) body.push(lines[i++]);
      if (!body.length) body.push(lines[i++]);
      const paragraph = add("p");
      body.forEach((each, n) => { if (n) add("br", paragraph); plainInline(each, paragraph); });
    }
  }
  return out;
}
