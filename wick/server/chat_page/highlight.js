// Colours of code: comments, texts, numbers and keywords. One expression a language; what is not known stays plain.
const highlighted = (() => {
  const words = text => text.split(" ");
  const kC = "break case catch class const continue default do else enum extends finally for if implements import interface new private protected public return static switch this throw try void while true false null";
  const slash = String.raw`//[^\n]*|/\*[\s\S]*?(?:\*/|$)`, hash = String.raw`#[^\n]*`, dashes = String.raw`--[^\n]*`;
  const quotes = String.raw`"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?`;
  const language = (comment, string, keywords, flags = "") => ({ comment, string, keywords: new Set(words(keywords)), flags });
  const kScript = language(slash, "`(?:\\\\[\\s\\S]|[^`\\\\])*`?|" + quotes, kC + " async await delete export from function in instanceof let of super typeof undefined var yield type declare namespace readonly as keyof string number boolean any never unknown");
  const kCpp = language(slash, String.raw`R"\((?:[\s\S]*?)\)"|` + quotes, kC + " alignas auto bool char char8_t char16_t char32_t concept consteval constexpr constinit co_await co_return co_yield decltype delete double explicit extern float friend goto inline int long mutable namespace noexcept nullptr operator override register requires short signed sizeof struct template thread_local typedef typename union unsigned using virtual volatile final size_t #include #define #if #ifdef #ifndef #else #elif #endif #pragma NULL");
  const kShell = language(String.raw`(?<=^|\s)#[^\n]*`, String.raw`"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?`, "if then else elif fi for in do done while until case esac function return exit export local readonly set unset source echo cd test true false");
  const kYaml = language(String.raw`(?<=^|\s)#[^\n]*`, quotes, "true false null yes no on off");
  const kSql = language(dashes + String.raw`|/\*[\s\S]*?\*/`, String.raw`'(?:''|[^'])*'?|"[^"]*"?`, "select from where and or not in is null as on join left right inner outer full cross group by order having limit offset insert into values update set delete create table view index drop alter add primary key foreign references unique default check union all distinct case when then else end with exists between like asc desc count sum avg min max begin commit rollback integer int text varchar boolean date timestamp", "i");
  const languages = {
    c: kCpp, cpp: kCpp, javascript: kScript, sql: kSql, shell: kShell, yaml: kYaml,
    python: language(hash, String.raw`[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?)`, "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self"),
    java: language(slash, quotes, kC + " abstract boolean byte char double final float instanceof int long native package short super synchronized throws transient var volatile record sealed permits fun val when object companion override suspend data internal lateinit let guard func in out where extension protocol struct init deinit using namespace string decimal get set async await event delegate is as ref params readonly base foreach lock sizeof typeof uint ulong"),
    go: language(slash, "`[^`]*`?|" + quotes, "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 string bool byte rune error float32 float64 any make new len cap append"),
    rust: language(slash, String.raw`r#*"[\s\S]*?"#*|"(?:\\[\s\S]|[^"\\])*"?|'(?:\\.|[^'\\\n])'`, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 usize isize bool char str String Vec Option Some None Result Ok Err"),
    ruby: language(hash, quotes, "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require puts attr_accessor"),
    lua: language(dashes, quotes, "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
    json: language("(?!)", String.raw`"(?:\\[\s\S]|[^"\\\n])*"?`, "true false null"),
    toml: kYaml, make: language(hash, quotes, "ifeq ifneq ifdef ifndef else endif include define endef export override"),
    cmake: language(hash, String.raw`"(?:\\[\s\S]|[^"\\])*"?`, "if elseif else endif foreach endforeach while endwhile function endfunction macro endmacro set include project add_executable add_library target_link_libraries find_package message return option list string file"),
    css: language(String.raw`/\*[\s\S]*?(?:\*/|$)`, quotes, "important auto none inherit initial flex grid block inline absolute relative fixed sticky solid"),
    html: language(String.raw`<!--[\s\S]*?(?:-->|$)`, String.raw`"[^"]*"?|'[^']*'?`, ""),
    haskell: language(dashes, String.raw`"(?:\\[\s\S]|[^"\\\n])*"?`, "case class data deriving do else if import in infix infixl infixr instance let module newtype of then type where"),
    dockerfile: language(hash, quotes, "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG AS"),
  };
  const other = { "c++": "cpp", cc: "cpp", h: "cpp", hpp: "cpp", cuda: "cpp", opencl: "cpp", glsl: "cpp", js: "javascript", jsx: "javascript", ts: "javascript", tsx: "javascript", typescript: "javascript", mjs: "javascript", py: "python", python3: "python", kotlin: "java", swift: "java", csharp: "java", "c#": "java", cs: "java", scala: "java", php: "java", dart: "java", golang: "go", rs: "rust", rb: "ruby", bash: "shell", sh: "shell", zsh: "shell", console: "shell", jsonc: "json", json5: "json", yml: "yaml", ini: "yaml", makefile: "make", xml: "html", svg: "html", vue: "html", scss: "css", hs: "haskell", docker: "dockerfile", patch: "diff" };
  const kMax = 100000;
  const compiled = new Map();
  function expression(rules) {
    if (!compiled.has(rules)) compiled.set(rules, new RegExp(`(${rules.comment})|(${rules.string})|([#@]?[A-Za-z_][\\w]*)|(\\b(?:0[xX][\\da-fA-F_]+|0[bB][01_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)[a-zA-Z]*)`, "gm"));
    return compiled.get(rules);
  }
  function lines(text) {
    return text.split(/(?<=\n)/).map(line => /^(\+(?!\+\+)|-(?!--))/.test(line) ? element("span", line[0] === "+" ? "added" : "removed", line) : line.startsWith("@@") ? element("span", "comment", line) : line);
  }
  return (text, name) => {
    name = (name || "").toLowerCase();
    name = other[name] || name;
    if (text.length > kMax) return [text];
    if (name === "diff") return lines(text);
    const rules = Object.hasOwn(languages, name) ? languages[name] : null;
    if (!rules) return [text];
    const nodes = [], pattern = expression(rules);
    let at = 0;
    const isKeyword = word => rules.keywords.has(rules.flags === "i" ? word.toLowerCase() : word);
    pattern.lastIndex = 0;
    for (let match; (match = pattern.exec(text));) {
      if (match[0] === "") { ++pattern.lastIndex; continue; }
      const kind = match[1] !== undefined ? "comment" : match[2] !== undefined ? "string" : match[3] !== undefined ? (isKeyword(match[3]) ? "keyword" : name === "html" && /[</]/.test(text[match.index - 1] || "") ? "keyword" : "") : "number";
      if (!kind) continue;
      nodes.push(text.slice(at, match.index), element("span", kind, match[0]));
      at = pattern.lastIndex;
    }
    nodes.push(text.slice(at));
    return nodes;
  };
})();
