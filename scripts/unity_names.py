"""Names that two files of a room define for themselves: harmless while each is compiled alone, an error where the preset `cpu` compiles a
dozen files of a room at once (WICK_UNITY).

definitions(text) finds, in a source without comments and literals, what has internal linkage: functions with their parameters' types, types,
variables and macros. collisions(files) names those that are defined twice.
"""
import re

OPEN_NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*(?:\[\[[^\]]*\]\]\s*)?([\w:]*)\s*$")
TYPE = re.compile(r"^(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\s*\([^)]*\)\s*)*(\w+)(?:\s+final)?\s*(?=:(?!:)|$)")
ALIAS = re.compile(r"^(?:using|namespace)\s+(\w+)\s*=")
FUNCTION = re.compile(r"((?:\w+::)*(?:operator\s*[^\s\w(]+|operator\s*\(\)|\w+))\s*\(")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|\{|\(|$)")
MACRO = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
COMMENTS = re.compile(r'^(?:\s*"")+')  # as check_rooms blanks them
INITIALIZER = re.compile(r"(?<![=!<>+*/&|^-])=(?![=])(?!.*\))", re.DOTALL)
QUALIFIERS = re.compile(r"^(?:(?:static|inline|constexpr|consteval|constinit|const|thread_local|extern|\[\[[^\]]*\]\])\s+)+")


def split_at(text, separator):
    """The parts of a text between separators that stand in no bracket."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}", "<": ">", "[": "]"}, 0
    for place in range(at, len(text)):
        if text[place] == text[at]:
            depth += 1
        elif text[place] == pairs[text[at]]:
            depth -= 1
            if depth == 0:
                return place + 1
    return len(text)


def parameter_types(parameters):
    """"const Shape& shape, int = 3" as ("constShape&", "int"): a name is a word behind a type."""
    types = []
    for parameter in split_at(parameters, ","):
        parameter = split_at(parameter, "=")[0].strip()
        parameter = re.sub(r"(?<=[\w>&*\]])(\s+|(?<=[>&*]))(?!const\b|int\b|long\b|char\b|double\b|unsigned\b)\w+$", "", parameter)
        types.append(re.sub(r"\s+", "", parameter))
    return tuple(types)


def define(head, has_body, opens):
    """The kind and name of what `head` declares, or None; functions carry their parameters' types."""
    head = COMMENTS.sub("", head).strip()
    while head.startswith("template"):
        head = head[closing(head, head.index("<")):].strip()
        if head.startswith("requires"):
            return None
    if not head or head.startswith(("using namespace", "static_assert", "friend", "public", "private", "#")):
        return None
    alias = ALIAS.match(head)
    if alias:
        return ("alias", alias.group(1), re.sub(r"\s+", "", head))
    if re.match(r"using\s+[\w:]+$", head):
        return None
    kind = TYPE.match(head)
    if kind:
        return ("type", kind.group(1), "") if opens else None
    head = QUALIFIERS.sub("", head)
    function = FUNCTION.search(head)
    before = head[:function.start()] if function else ""
    if function and "=" not in before and before.strip():
        end = closing(head, function.end() - 1)
        parameters = head[function.end():end - 1]
        if '""' not in parameters and not re.match(r"^\s*[\d&{]", parameters):
            # A member's definition is named by its class.
            is_own = has_body and "::" not in function.group(1)
            return ("function", function.group(1), parameter_types(parameters)) if is_own else None
    variable = VARIABLE.search(head)
    return ("variable", variable.group(1), "") if variable and re.search(r"\s", head[:variable.end()]) else None


def definitions(text):
    """{(namespace, name, detail): line} of what a source, blanked of comments and literals, defines for itself."""
    found = {}
    defined = {}
    for macro in MACRO.finditer(text):
        if macro.group(1) == "define":
            defined[macro.group(2)] = (re.sub(r"\s+", "", macro.group(3)), text.count("\n", 0, macro.start()) + 1)
        else:
            defined.pop(macro.group(2), None)
    for name, (body, line) in defined.items():
        found[("", "macro", name, body)] = line
    plain = MACRO.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    plain = re.sub(r"^[ \t]*#[^\n]*", "", plain, flags=re.MULTILINE)
    read_scope(plain, 0, len(plain), [], found)
    return found


def read_scope(text, begin, end, path, found):
    """The declarations between two places, in the namespace `path`; "" in it is an unnamed one."""
    at = head_begin = begin
    while at < end:
        letter = text[at]
        if letter in "([":
            at = closing(text, at)
            continue
        if letter == "}":
            return
        if letter == ";":
            note(text, head_begin, at, path, found, has_body=False, opens=False)
            head_begin = at = at + 1
            continue
        if letter != "{":
            at += 1
            continue
        stop = closing(text, at)
        head = text[head_begin:at]
        namespace = OPEN_NAMESPACE.search(head.strip())
        if namespace and "=" not in head:
            read_scope(text, at + 1, stop - 1, path + namespace.group(1).split("::"), found)
            head_begin = at = stop
            continue
        # Braces of a variable or a type end in a semicolon, those of a function do not.
        is_block = not text[stop:stop + 200].lstrip().startswith(";") and not INITIALIZER.search(head)
        note(text, head_begin, at, path, found, has_body=is_block, opens=True)
        at = stop
        if not is_block:
            while at < end and text[at] != ";":
                at = closing(text, at) if text[at] in "({[" else at + 1
            at += 1
        head_begin = at


def note(text, begin, end, path, found, has_body, opens):
    head = text[begin:end]
    internal = "" in path or COMMENTS.sub("", head).lstrip().startswith("static ")
    if not internal:
        return
    what = define(head, has_body, opens)
    if what is None:
        return
    line = text.count("\n", 0, begin + len(head) - len(COMMENTS.sub("", head).lstrip())) + 1
    kind, name, detail = what
    names = [name]
    if kind == "variable":
        names += [match.group(1) for part in split_at(head, ",")[1:] if (match := re.match(r"[\s*&]*(\w+)", part))]
    for name in names:
        found.setdefault(("::".join(part for part in path if part), kind, name, detail), line)


def collisions(files):
    """(path, line, other path, name) of each name that two of the sources, {path: text}, define for themselves."""
    seen = {}
    for path, text in files.items():
        for (namespace, kind, name, detail), line in definitions(text).items():
            for other, other_kind, other_detail in seen.get((namespace, name), []):
                both = {kind, other_kind}
                # Equal aliases and macros may stand twice; functions are told apart by their parameters.
                same = detail == other_detail
                if both == {"function"} and not same or both in ({"alias"}, {"macro"}) and same or "macro" in both and len(both) == 2:
                    continue
                yield path, line, other, name
                break
            seen.setdefault((namespace, name), []).append((path, kind, detail))
