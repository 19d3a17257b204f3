"""Small templates that try jinja2's language one feature at a time, and a generator of random ones; see scripts/template_goldens."""

DATA = {
    "s": "Hello, World", "u": "ÄÖ ß ǆ İ 日本 🙂 e\u0301", "lines": "one\n  two\r\n\nthree\t!\n", "html": "<a href='x'>\"&\"</a>", "n": 7, "big": 123456789012,
    "neg": -7, "f": 2.5, "tiny": 1e-7, "huge": 1e22, "t": True, "no": False, "nothing": None, "l": [3, 1, 2], "mixed": [1, "a", None, 2.0, [1], {"k": "v"}],
    "words": ["pear", "Apple", "fig", "apple"], "d": {"b": 1, "a": {"x": [1, 2]}, "C": None, "items_": 3}, "e": [], "ed": {}, "es": "",
    "rows": [{"name": "b", "age": 3, "tags": ["x"]}, {"name": "A", "age": 1, "tags": []}, {"name": "c", "age": 3}], "pairs": [["a", 1], ["b", 2]],
    "nested": [[1, [2, [3]]], [4]],
}

# Expressions of one feature each, printed with all of DATA.
EXPRESSIONS = """
1 + 2 * 3 - 4 | 7 / 2 | 7 // 2 | -7 // 2 | 7 % 3 | -7 % 3 | 7 % -3 | 2 ** 10 | -2 ** 2 | 2 ** -1 | 2 ** 3 ** 2 | 7.5 // 2 | -7.5 % 2 | 1e3 | 1_000 | 0x1F
0b101 | 0o17 | 1.0 | 100000.0 * 10 ** 12 | huge | tiny | 1/3 | 0.1 + 0.2 | 1e16 | 123456789.123456789 | -0.0 | 5.0 // 0.3 | 3 * 'ab' | 'ab' * 2 | [1] * 3
[1] + [2] | 'a' + 'b' | 'a' ~ 1 ~ none ~ true ~ 1.5 | (1,) | (1, 2) | () | [1, (2, 3), {'a': 'b'}] | {'a': 1, 2: 'b', none: 1.0, true: false} | 1 < 2 < 3 | 1 < 3 < 2
1 == 1.0 | true == 1 | 'a' < 'b' | [1, 2] < [1, 3] | 'a' in 'abc' | 1 in l | 'b' in d | 9 not in l | not true | not not '' | 1 and 2 | 0 or 'x' | none or missing or 'y'
1 if t else 2 | 'x' if missing | (1 if no) is defined | t is true and no is false | n is divisibleby 7 | n is odd | neg is even | s is string | d is mapping
l is sequence | l is iterable | nothing is none | missing is undefined | f is float | n is integer | t is integer | t is number | t is boolean | s is lower
'ABC' is upper | 'a' is in 'abc' | 1 is in(l) | l is sameas l | 1 is sameas 1 | s is callable | range is callable | d.items is callable | 'upper' is filter | 'nope' is filter
'odd' is test | html is escaped | (html|safe) is escaped | n is eq 7 | n is ne 7 | n is gt 3 | n is ge(8) | n is lessthan 8 | n is not odd | 3 is not divisibleby 2
s[0] | s[-1] | s[1:4] | s[::-1] | s[:-2] | s[10:2:-3] | u[3] | u[-1] | u[2:6] | l[0] | l[-1] | l[1:] | l[::2] | l[::-1] | d['b'] | d.a.x[1] | d['missing'] | l[99] | s[99]
d.missing | d.missing is defined | mixed[5].k | mixed[4][0] | nested[0][1][1][0] | rows[0].name | rows[-1]['age'] | (1, 2)[1] | 'abc'.0 | l.0 | {'a': {'b': 2}}.a.b
d.keys()|list | d.values()|list | d.items()|list | d.get('b') | d.get('z') | d.get('z', 5) | d | l | mixed | rows | u | [u] | [lines] | [html] | ['"', "'", "\\\\", "'\\""]
s.upper() | s.lower() | u.upper() | u.lower() | s.title() | "they're bill's".title() | u.title() | s.capitalize() | u.capitalize() | s.swapcase() | 'straße'.casefold()
s.split() | s.split(',') | s.split('l', 1) | s.rsplit('l', 1) | s.rsplit('l') | '  a  b '.split() | ' a b c '.split(none, 1) | ' a b c '.rsplit(none, 1) | 'a,b,,c'.split(',') | s.split(', ')[1]
s.partition(', ') | s.partition('x') | s.rpartition('l') | s.rpartition('x') | s.replace('l', 'L') | s.replace('l', 'L', 1) | 'abc'.replace('', '-') | 'abc'.replace('', '-', 2)
'  a '.strip() | '  a '.lstrip() | '  a '.rstrip() | 'xxaxx'.strip('x') | 'abcba'.lstrip('ab') | 'abcba'.rstrip('ab') | '\\u3000a\\u00a0'.strip() | s.startswith('He') | s.startswith(('x', 'H'))
s.startswith('l', 2) | s.endswith('ld') | s.endswith(('x', 'd')) | s.endswith('o', 0, 5) | s.find('o') | s.find('o', 5) | s.rfind('o') | s.find('z') | s.index('W') | u.find('日') | s.count('l') | s.count('')
'7'.zfill(3) | '-7'.zfill(4) | 'a'.center(6) + '|' | 'ab'.center(5, '*') | 'abc'.center(6, '*') | 'a'.ljust(4, '.') | 'a'.rjust(4) | lines.splitlines() | lines.splitlines(true) | 'a\\tb'.expandtabs(4)
','.join(['a', 'b']) | ''.join(d) | 'prefix'.removeprefix('pre') | 'suffix'.removesuffix('fix') | '12'.isdigit() | '1a'.isalnum() | 'ab'.isalpha() | ' '.isspace() | 'Ab C'.istitle() | 'ab1'.islower()
'AB'.isupper() | 'a_b1'.isidentifier() | '1'.isdecimal() | '²'.isdigit() | '½'.isnumeric() | 'é'.isascii() | 'a\\n'.isprintable() | ''.isalpha() | '%s and %d' % ('x', 3) | '%5.2f|%-5s|%05d' % (f, 'a', n)
'%x %X %o %e %g %%' % (255, 255, 8, 12345.678, 0.0001) | '%(a)s' % {'a': 1} | '%r' % ['x'] | '%s' % d | '%s' % nothing | '%+d % d' % (5, 5) | '%.3s' % 'abcdef' | '%c' % 65 | '%s' % [1, 2]
'{} {}'.format(1, 'a') | '{1} {0}'.format(1, 'a') | '{a} {b[0]} {c.x}'.format(a=1, b=[2], c={'x': 3}) | '{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c') | '{:05.1f} {:,} {:x} {:b}'.format(f, big, 255, 5)
'{!r:>6}'.format('a') | '{{}}'.format() | '{:*^9}'.format('mid') | '{:+} {: }'.format(3, 4) | '{:.2%}'.format(0.1234) | '{:e}'.format(12345.6) | '{:g}'.format(1e10) | '{:{w}}|'.format('a', w=4)
'{:_}'.format(1234567) | '{:#x} {:#b}'.format(255, 5) | '{:.3}'.format('abcdef') | '{0.missing}'.format(d) | '{:10.3}|'.format(3.14159) | '{:>+6d}'.format(7) | l|join | l|join(', ') | rows|join('-', attribute='name')
l|sort | words|sort | words|sort(case_sensitive=true) | words|sort(reverse=true) | rows|sort(attribute='age')|map(attribute='name')|list | rows|sort(attribute='age,name')|map(attribute='name')|list
l|first | l|last | e|first | e|last | s|first | s|last | d|first | l|length | s|length | u|length | d|length | e|count | l|reverse|list | s|reverse | u|reverse | l|max | l|min | words|max | e|max
rows|max(attribute='age') | l|sum | rows|sum(attribute='age') | l|sum(start=10) | words|unique|list | l|batch(2)|list | l|batch(2, 'x')|list | l|slice(2)|list | l|slice(2, 'x')|list | range(10)|slice(3)|list
rows|groupby('age') | rows|groupby('age')|map(attribute='grouper')|list | rows|groupby('missing', default='?') | words|groupby(0) | rows|map(attribute='tags', default='none')|list | words|map('upper')|list
words|map('replace', 'p', 'P')|join('|') | l|select('odd')|list | l|reject('odd')|list | mixed|select|list | mixed|reject|list | l|select('gt', 1)|list | rows|selectattr('tags')|map(attribute='name')|list
rows|selectattr('age', 'equalto', 3)|list|length | rows|rejectattr('age', 'equalto', 3)|map(attribute='name')|first | rows|selectattr('tags', 'defined')|list|length | words|select('in', ['fig'])|list
d|dictsort | d|dictsort(true) | {'x': 2, 'y': 1}|dictsort(by='value') | {'b': 1, 'A': 2}|dictsort(reverse=true) | d|items|list | d|list | s|list | u|list | nothing|default('x') | nothing|default('x', true)
missing|default('x') | missing|d | es|default('x', true) | missing|default | 'abc'|upper | 'ABC'|lower | u|upper | 'hello world-wide (web) don\\'t'|title | s|capitalize | '  x '|trim | 'xyx'|trim('x') | 5|string + '!'
[1]|string | n|string|length | '42'|int | '42.9'|int | 'x'|int | 'x'|int(5) | '0x1A'|int(0, 16) | ' 12 '|int | 3.99|int | -3.99|int | '1_000'|int | none|int | [1]|int | '1e3'|int | '2.5'|float | 'x'|float | 'x'|float(1.5) | 'inf'|float
2.5|round | 3.5|round | 2.675|round(2) | 1234.5|round(-2) | 2.1|round(0, 'ceil') | 2.9|round(0, 'floor') | 2.345|round(1, 'ceil') | 5|round | 1250|round(-2) | -5|abs | -2.5|abs | 1.5|string
'a b'|replace(' ', '_') | 'aaa'|replace('a', 'b', 2) | 5|replace(5, 6) | html|escape | html|e|upper | html|safe | html|forceescape | html|escape|escape | '<'|escape + '<' | ('<'|safe) + '<' | '<' + ('<'|safe)
lines|indent | lines|indent(2) | lines|indent(2, true) | lines|indent(2, blank=true) | lines|indent('> ') | lines|indent('> ', true, true) | 'one line'|indent | ''|indent(first=true) | 'a\\n\\nb'|indent(1)
'The quick brown fox jumps'|truncate(12) | 'The quick brown fox jumps'|truncate(12, true) | 'The quick brown fox'|truncate(12, false, '…', 0) | 'short'|truncate(5) | s|wordcount | 'a-b c_d 1.5'|wordcount
'The quick brown fox jumps over'|wordwrap(10) | 'averyveryverylongword here'|wordwrap(8) | 'averyveryverylongword here'|wordwrap(8, false) | lines|wordwrap(4) | 'well-known facts'|wordwrap(6) | s|center(20) + '|' | 'ab'|center(5)
html|striptags | '<p>a  <!-- c --> b</p> &lt;'|striptags | html|urlencode | {'a b': 'c&d', 'e': 1}|urlencode | pairs|urlencode | 'a/b c?d=é'|urlencode | {'class': 'x', 'n': none, 'id': '<>'}|xmlattr | {'a': 1}|xmlattr(false)
1|filesizeformat | 999|filesizeformat | 1000|filesizeformat | 1234567|filesizeformat | 1234567|filesizeformat(true) | '2048'|filesizeformat(true) | 10**15|filesizeformat | '%s-%s'|format('a', 1) | '%(x)s'|format(x=2) | d|tojson | mixed|tojson
d|tojson(indent=2) | rows|tojson(indent=4) | [1, 2]|tojson(separators=(',', ':')) | d|tojson(sort_keys=true) | {'b': 1, 'a': [], 'c': {}}|tojson(indent=1) | u|tojson | u|tojson(true) | u|tojson(ensure_ascii=true) | html|tojson
"\\x00\\x1f\\x7f\\u2028\\"\\\\/\\b\\f\\n\\r\\t"|tojson | "\\x00\\x1f\\x7f\\u2028\\u00e9"|tojson(ensure_ascii=true) | [1.0, 1e22, 1e-7, true, none]|tojson | {1: 2, none: 3, true: 4, 1.5: 6}|tojson | (1, 2)|tojson | [[]]|tojson(indent='\\t') | {'a': {'b': [1, {'c': 2}]}}|tojson(indent=2, sort_keys=true)
[]|tojson(indent=2) | {}|tojson(indent=2) | {'a': 1, 'b': [1, 2]}|tojson(indent=2, separators=(', ', ' = ')) | range(5)|list | range(2, 8, 3)|list | range(5, 0, -2)|list | range(3) | range(1, 7, 2) | range(0)|list | range(5)[1:3] | range(5)[-1] | 3 in range(5)
dict(a=1, b=2) | dict([('a', 1)]) | dict({'x': 1}, y=2) | dict(d.items()) | namespace(a=1).a | namespace({'a': 1}).a | strftime_now('%Y-%m-%d %H:%M:%S') | strftime_now('%d %b %Y') | strftime_now('%%') | joiner(', ')() | cycler(1, 2).next() | cycler(1, 2).current
[1, 2, 3].index(2) | [1, 2, 1].count(1) | (1, 2).index(2) | l.copy() | d.copy() == d | d.keys() | d.values() | d.items() | [d.keys()] | {'a': (1, 2)}.items() | 'é' == 'e\\u0301' | '\\N' | 'a\\qb' | '\\101\\x41\\u0041\\U00000041' | 'a' 'b' "c"
"it's" | 'say "x"' | ['it\\'s'] | ['say "x" it\\'s'] | ['\\u200b\\ufeff\\xa0é\\U0001F642\\ud7ff'] | 'abc' < 'abd' < 'b' | [3, 1]|sort|first + 1 | (l|sort)[0] | -n|abs | (-n)|abs | 1 + n|string|length | 'a' ~ l|length ~ 'b' | not n is odd | n is odd or n is even
n if n > 3 else none | 'a' if n > 3 else 'b' if n > 2 else 'c' | [x for_ in_ l] if no else 'skip' | l|map('string')|map('length')|sum | missing.foo is defined | missing is defined and missing.foo | (l|first) in l | 'x' in missing | missing == other | missing == '' | missing|length
missing|list | missing|join | missing|upper | missing ~ 'x' | [missing] | missing|string|length | nothing|string | nothing ~ 1 | d == {'b': 1} | {'a': 1, 'b': 2} == {'b': 2, 'a': 1} | [1, 2] == (1, 2) | (1, 2) == (1, 2) | 1 != 1.0 | 'a' != 'b' | 10 // 3.0 | 10 % 3.5 | 2 ** 0.5 | 9 ** 0.5 | 7 / 1
1 is number | 'a' is number | 'a' is sequence | {} is sequence | {} is iterable | 5 is iterable | range(3) is sequence | range(3) is iterable | d.items() is iterable | d.items() is sequence | (l|map('string')) is iterable | (l|map('string')) is sequence | missing is iterable | missing is string | missing is mapping | missing is none
rows|map(attribute='name')|join(', ')|upper | rows|map(attribute='tags.0')|list | rows|selectattr('name', 'in', ['b', 'c'])|map(attribute='age')|sum | words|map('first')|join | words|map('length')|list|sort|last | words|select('string')|list|length | d|items|map('first')|list | d.items()|map('last')|list | l|map('string')|join('+') | (l|list).0
s|attr('upper') is callable | d|attr('b') is defined | d|attr('keys') is defined | l|pprint | d|pprint is string | true + true | true * 3 | -true | +n | ~1 | 'abc'|batch(2)|list | 'abc'|list|join('.') | u|list|length | s|lower|replace('l', '')|title | 'x'.join(s[:3]) | '%s' % (s,) | '%s' % s[:2] | 'a%'~'b' | "a\\
b" | {'a': 1, 'a': 2} | {'a': 1}['a'] | {'a': 1}.get('b', {}).get('c') is none | [[1, 2], [3]]|map('sum')|list | [[1, 2], [3]]|sum(start=[]) | [0.1] * 3 | [0.1, 0.2]|sum | [1, 2.5]|sum | l|sort(reverse=true) | l|sort|reverse|list | mixed|map('string')|list
"""

ERRORS = """
missing.foo | missing.foo.bar | missing() | missing + 1 | 1 + missing | missing < 1 | -missing | d.missing.x | d['no']['way'] | l[10].x | nothing.x.y | s.nope() | 1 + 'a' | 'a' + 1 | [1] + 'a' | nothing + 'a' | 'a' * 'b' | 1 / 0 | 1 // 0 | 1 % 0 | 1.0 / 0
1 < 'a' | none < 1 | [1] < 1 | {} < {} | 5 in 5 | 1 in 'abc' | n() | s() | l|join(1, 2, 3) | 5|length | none|length | 5|list | none|list | none|join | 5|first | l|sort('x')|foo | range(100001) | range(1, 2, 0) | range() | dict(1) | {[]: 1} | {{}: 1}
d.update({}) | l.append(1) | l.pop() | d.pop('b') | d.clear() | d.setdefault('a', 1) | s.__class__ | s.__class__.__mro__ | l.__len__ | raise_exception('boom') | raise_exception('é "quoted"') | raise_exception() | 'x'.index('y') | 'a'.split('') | ''.join([1]) | ','.join(5) | 's'.startswith(1)
'%d' % 'a' | '%s %s' % 'a' | '%s' % (1, 2) | '%z' % 1 | '%(a)s' % 5 | '{}'.format() | '{a}'.format() | '{'.format() | '}'.format() | '{:d}'.format('a') | '{:s}'.format(1) | l|tojson(5, 6, 7, 8, 9) | missing|tojson | d.items()|tojson | range(3)|tojson | namespace(_a=1) | l|map | l|map('nope')|list
l|select('nope')|list | [1, 'a']|sort | [1, 'a']|max | rows|sort(attribute='tags')|list | [{}]|unique|list | 'abc'|truncate(1) | 'a'|round | 'a'|abs | none|abs | none|int + 'a' | none|float + 'a' | l|batch(0)|list | d|dictsort(by='x') | 5|items|list | 2.5|round(0, 'up') | 'x'|indent(none) | 5|indent | l|groupby | 1 is divisibleby 0
1 is divisibleby | 1 is eq | ('a', 'b')|xmlattr | {'a b': 1}|xmlattr | loop.index | caller() | super() | varargs | kwargs | l[missing] | d[missing] | d[[]] | s['a'] | s[1.5] | l['a'] | l[none] | l[1:'a'] | n[0] | n[0:1] | t.foo | nothing['a'] | (1).foo | missing[0] | missing['x'] | missing[1:]
'a' is in 5 | 5 is in 'a' | none is divisibleby 2 | 'a' is odd | none is even | 'x' is lt 1 | l|first|first | e|first|upper | e|first.x | e|last + 1 | e|min + 1 | cycler() | joiner(1, 2) | namespace(1) | namespace([1]) | strftime_now() | strftime_now(5) | dict(**5) | dict(*5) | s.upper(1) | s.strip(1) | s.split(1) | s.replace('a') | s.center('x') | d.get() | d.get([]) | d.items(1)
"""

STATEMENTS = [
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}|{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}", "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for x in e %}a{% else %}none{% endfor %}", "{% for x in missing %}a{% else %}none{% endfor %}", "{% for x in nothing %}a{% endfor %}", "{% for x in 5 %}a{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for k, v in d|items %}{{ k }}{% endfor %}", "{% for k, v in d|dictsort %}{{ k }}{% endfor %}",
    "{% for a, b in pairs %}{{ a }}{{ b }}{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b in [(1,)] %}{% endfor %}", "{% for a, b in l %}{% endfor %}",
    "{% for c in u %}[{{ c }}]{% endfor %}", "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ loop.last }} {% endfor %}", "{% for x in l if x > 9 %}a{% else %}none{% endfor %}",
    "{% for x in l if loop.index %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% break %}{% else %}else{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% if y == 1 %}{% break %}{% endif %}{% endfor %}|{{ loop.index }} {% endfor %}", "{% for x in l %}{% set outer = loop %}{% for y in 'ab' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}", "{% for x in l %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}", "{% for x in l %}{{ loop.nope }}{% endfor %}", "{% for x in l %}{{ loop.nope.x }}{% endfor %}",
    "{% for x in nested recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}", "{% for x in l %}{{ loop(l) }}{% endfor %}", "{% for x in l|map('string') %}{{ x }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}", "{% set x = 1 %}{% if t %}{% set x = 2 %}{% endif %}{{ x }}", "{% for i in l %}{{ x }}{% set x = i %}{{ x }};{% endfor %}", "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}", "{% set ns = namespace(a=1) %}{{ ns.b.c }}", "{% set d.x = 1 %}", "{% set missing.x = 1 %}", "{% set ns = namespace(f=false) %}{% for i in l if not ns.f %}{% set ns.f = true %}{{ i }}{% endfor %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 'xy' %}{{ a }}-{{ b }}", "{% set (a, b) = (1, 2) %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set x %}a{{ n }}b{% endset %}{{ x }}{{ x|length }}", "{% set x | upper | replace('A', 'z') %}a{{ n }}b{% endset %}{{ x }}", "{% set x %}{% for i in l %}{{ i }},{% endfor %}{% endset %}[{{ x }}]",
    "{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}", "{% if n < 5 %}a{% elif n < 8 %}b{% else %}c{% endif %}", "{% if no %}a{% elif no %}b{% else %}c{% endif %}", "{% if missing %}a{% endif %}", "{% if missing.x %}a{% endif %}", "{% if not missing %}a{% endif %}", "{% if l and d and s %}a{% endif %}", "{% if no %}{{ 1|nope }}{% endif %}", "{{ 1|nope }}", "{% if t %}{{ 1|nope }}{% endif %}", "{{ 1|nope if no else 2 }}", "{{ 1 is nope }}", "{% if 0 %}{{ 1 is nope }}{% endif %}ok",
    "{% if no %}{% for x in l %}{{ x|nope }}{% endfor %}{% endif %}", "{% macro m() %}a{% endmacro %}{{ m() }}{{ m() }}", "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=5) }}", "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m() }}", "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(x=2) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a) %}{{ a }}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}", "{% macro m(n) %}{% if n > 0 %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a=n + 1) %}{{ a }}{% endmacro %}{{ m() }}", "{% macro m(x=missing) %}{{ x is defined }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ m() }}", "{% macro m() %}{% set y = 5 %}{{ y }}{% endmacro %}{{ m() }}{{ y }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{{ m() }}{% macro m() %}{% endmacro %}", "{% macro m() %}{{ caller() }}!{% endmacro %}{% call m() %}body {{ n }}{% endcall %}", "{% macro m(x) %}{{ caller(x, 2) }}{% endmacro %}{% call(a, b=3) m(1) %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}a{% endmacro %}{% call m() %}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{% if caller is defined %}yes{{ caller() }}{% else %}no{% endif %}{% endmacro %}{{ m() }}{% call m() %}x{% endcall %}", "{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**{'a': 1}) }}{{ m(*[], b=2) }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}", "{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.caller }}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is callable }}",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b')|upper %}banana{% endfilter %}", "{% with a=1, b=n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}", "{% with a=1 %}{% with b=a+1 %}{{ b }}{% endwith %}{% endwith %}", "{% set a = 5 %}{% with a=1, b=a %}{{ a }}{{ b }}{% endwith %}", "{% block x %}a{{ n }}{% endblock %}{{ self.x() }}", "{% set v = 3 %}{% block x %}{{ v }}{% endblock x %}", "{% for i in l %}{% block x scoped %}{{ n }}{% endblock %}{% endfor %}", "{% generation %}a{{ n }}{% endgeneration %}b", "{% generation %}{% set q = 1 %}{{ q }}{% endgeneration %}{{ q }}", "{%- generation -%} a {%- endgeneration -%} b",
    "{% autoescape true %}{{ n }}{% endautoescape %}", "{% raw %}{{ x }}{% y %}{# z #}{% endraw %}", "a {%- raw -%}  {{ x }}  {%- endraw -%} b", "{% raw %}\n{{ x }}\n{% endraw %}\nb", "{% print n, s %}", "{% print n %}", "a{# comment #}b", "a {#- comment -#} b", "a\n  {# comment #}\nb", "a\n{# multi\nline #}\nb", "{#-#}x", "{##}x", "{# {% if %} #}x", "a\n{% if t %}\n  b\n{% endif %}\nc", "a\n    {% if t %}\n  b\n    {% endif %}\nc", "a\n  {%+ if t %}\n  b\n{% endif +%}\nc", "a  {%- if t -%}  b  {%- endif -%}  c", "a\n{{ n }}\nb", "a\n  {{ n }}\n  b", "a {{- n -}} b", "a\n\n{{- n -}}\n\nb", "a {{+ n }} b", "\n\n{% if t %}x{% endif %}\n\n", "x\n", "x\n\n", "\nx", "a\r\nb\rc\n", "  {% if t %}  x{% endif %}", "a   {% if t %}x{% endif %}   b", "{% if t %}\n\nx\n\n{% endif %}\n\ny", "{% for x in l %}\n{{ x }}\n{% endfor %}\n", "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\n", "\t{% if t %}\tx\n\t{% endif %}\t\n", "{{ '}}' }}{{ '%}' }}{% set x = '%}' %}{{ x }}", "{{ {'a': {'b': 1}}}}", "{{ {'a': 1}}}", "{{ [[1]] }}{{ ((1)) }}", "{ { x } }", "{%if t%}a{%endif%}", "{%-if t-%} a {%-endif-%}", "{{n}}{{-n-}}", "{{ n -}}   x", "a{{ '' }}b", "\u3000{%- if t %}x{% endif %}", "é{{ u }}é", "{% if t: %}a{% endif %}", "{% for x in l: %}{{ x }}{% endfor %}", "{% set x = [1, 2,] %}{{ x }}{{ (1, 2,) }}{{ {'a': 1,} }}", "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}", "{% if 1, %}a{% endif %}", "{{ 1, 2 }}", "{{ n\n+\n1 }}", "line1\n{{ missing.x }}\nline3", "line1\nline2 {{ n }} {{\n\n missing.x }}", "{% if t %}\n\n{{ missing.x }}{% endif %}", "{% for x in l %}\n{{ x }}\n{{ x.y.z }}{% endfor %}", "{% macro m() %}\n\n{{ missing.x }}{% endmacro %}\n\n{{ m() }}", "{% set x = missing.x %}", "\n\n{% set x %}\n{{ missing.x }}{% endset %}", "{% if n == 1 %}\n{% elif missing.x %}\n{% endif %}", "a\n{%- set x = 1 -%}\n\n{{ missing.y }}", "{% call missing() %}{% endcall %}", "{# a\nb #}{{ missing.x }}", "{% raw %}\n\n{% endraw %}{{ missing.x }}", "{{ 'a\nb' ~ missing.x }}", "\n{{ raise_exception('no') }}", "{% set x = raise_exception('a\nb') %}", "{{ ns }}{% set ns = namespace(a=1) %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}",
    # syntax errors
    "{% if %}{% endif %}", "{% if t %}", "{% endif %}", "{% for x in l %}{% endif %}", "{% for %}{% endfor %}", "{% for x l %}{% endfor %}", "{% for x in %}{% endfor %}", "{% nope %}", "{% do l %}", "{{ }}", "{{", "{{ n", "{% if t", "{%", "{{ 1 + }}", "{{ 1 2 }}", "{{ (1 }}", "{{ [1 }}", "{{ {1} }}", "{{ {1: } }}", "{{ 'a }}", "{{ a b }}", "{{ a. }}", "{{ a.1.b }}", "{{ a[ }}", "{{ a| }}", "{{ a|1 }}", "{{ a is }}", "{{ a is not }}", "{{ f(1 }}", "{{ f(a=1, 2) }}", "{{ f(*a, *b) }}", "{{ f(**a, b) }}", "{{ ! }}", "{{ $ }}", "{{ a ? b }}", "{{ ) }}", "{{ (] }}", "{# open", "{% raw %}open", "{% set %}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{% set x %}", "{% set x = %}", "{% set a.b.c = 1 %}", "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m(1) %}{% endmacro %}", "{% macro m() %}", "{% call x %}{% endcall %}", "{% call m() %}", "{% filter %}{% endfilter %}", "{% filter nope %}x{% endfilter %}", "{% with a %}{% endwith %}", "{% block %}{% endblock %}", "{% block a %}{% endblock %}{% block a %}{% endblock %}", "{% block a-b %}{% endblock %}", "{% break %}", "{% continue %}", "{% if t %}{% else %}{% else %}{% endif %}", "{% else %}", "{% elif t %}", "{% if t %}{% endfor %}{% endif %}", "a\nb\n{% nope %}", "a\n{% if t %}\nb", "a\n\n{{ 1 +\n }}", "{{ a is b is c }}", "{{ not }}", "{{ 1 if }}", "{{ 1 if 2 else }}", "{{ 'a' 1 }}", "{{ 0123 }}", "{{ 1__0 }}", "{{ 1.2.3 }}", "{{ .5 }}", "{{ 5. }}", "{{ '\\x4' }}", "{{ '\\u12' }}", "{% 1 %}", "{% if t %}a{% endif t %}", "{% for x in l %}{% endfor x %}", "{% set x = 1 %}{% endset %}", "{{ loop }}", "{% for loop in l %}{% endfor %}", "{{ n; 1 }}", "{{ n, }}", "{{ (,) }}", "{{ [,] }}", "{{ {,} }}", "{{ f(,) }}", "{{ a[1, 2] }}", "{{ d[1, 2] is defined }}", "{{ d[1:2, 3] is defined }}",
]


def _expressions(text):
    for line in text.strip().replace("\\\n", "\x00").split("\n"):
        for part in line.replace("\x00", "\\\n").split(" | "):
            yield part.replace("\\\\", "\\") if "\\\\" in part and "'\\\\" not in part else part


_SEEN = set()
SNIPPETS = []
for _part in list(_expressions(EXPRESSIONS)) + list(_expressions(ERRORS)):
    if _part not in _SEEN:
        _SEEN.add(_part)
        SNIPPETS.append(("{{ " + _part + " }}", None))
SNIPPETS += [(statement, None) for statement in STATEMENTS]


ATOMS = ["n", "neg", "f", "s", "u", "l", "d", "t", "no", "nothing", "missing", "words", "rows", "pairs", "e", "es", "1", "0", "2.5", "'ab'", "''", "none", "true", "[1, 2]", "{'k': 1}", "(1, 'x')", "mixed"]
FILTERS = ["upper", "lower", "length", "first", "last", "list", "join(',')", "join", "sort", "reverse", "string", "int", "float", "tojson", "trim", "default('z')", "default('z', true)", "unique|list", "title", "capitalize", "abs",
           "round", "max", "min", "sum", "map('string')|list", "select|list", "reject('none')|list", "replace('a', 'b')", "indent", "escape", "tojson(indent=1)", "items|list", "dictsort", "batch(2)|list", "wordcount", "center(9)", "map(attribute='name')|list", "groupby('age')|list|length"]
TESTS = ["defined", "none", "string", "mapping", "sequence", "iterable", "number", "odd", "even", "true", "false", "integer", "float", "boolean", "lower", "upper", "callable", "in l", "eq 1", "divisibleby 2", "sameas none", "undefined"]
SIGNS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or", "**"]
METHODS = ["upper()", "strip()", "split()", "split('a')", "keys()|list", "items()|list", "get('k', 3)", "startswith('a')", "replace('a', 'é')", "find('b')", "title()", "count('a')", "join(['x', 'y'])", "index(1)", "missing", "k", "name"]


def _expression(random, depth):
    if depth == 0 or random.random() < 0.15:
        return random.choice(ATOMS)
    inner = lambda: _expression(random, depth - 1)
    kind = random.randrange(10)
    if kind < 3:
        return f"({inner()} {random.choice(SIGNS)} {inner()})"
    if kind < 6:
        return f"({inner()})|{random.choice(FILTERS)}"
    if kind == 6:
        return f"(({inner()}) is {random.choice(['', 'not '])}{random.choice(TESTS)})"
    if kind == 7:
        return f"({inner()}).{random.choice(METHODS)}"
    if kind == 8:
        return f"({inner()} if {inner()} else {inner()})"
    return f"({inner()})[{random.choice(['0', '-1', '1:', '::-1', ':2', chr(39) + 'k' + chr(39), 'n', 'missing'])}]"


def _space(random):
    return random.choice(["", "", " ", "\n", "\n  ", "  \n\t", " x ", "\n\n"])


def _block(random, depth):
    dash = lambda: random.choice(["", "", "-", "+"])
    end = lambda: random.choice(["", "", "-"])
    if depth == 0 or random.random() < 0.4:
        return "{{" + random.choice(["", "-"]) + " " + _expression(random, 2) + " " + end() + "}}"
    kind = random.randrange(5)
    body = _space(random) + _block(random, depth - 1) + _space(random)
    if kind == 0:
        return "{%" + dash() + f" if {_expression(random, 2)} " + end() + "%}" + body + "{%" + dash() + " else " + end() + "%}" + body + "{%" + dash() + " endif " + end() + "%}"
    if kind == 1:
        return "{%" + dash() + f" for x in {_expression(random, 1)} " + end() + "%}" + body + "{{ x }}{{ loop.index }}" + "{%" + dash() + " endfor " + end() + "%}"
    if kind == 2:
        return "{%" + dash() + f" set n = {_expression(random, 2)} " + end() + "%}" + body
    if kind == 3:
        return "{%" + dash() + f" macro m(a, b={_expression(random, 1)}) " + end() + "%}" + body + "{{ a }}{{ b }}{% endmacro %}{{ m(" + _expression(random, 1) + ") }}"
    return "{%" + dash() + " filter upper " + end() + "%}" + body + "{%" + dash() + " endfilter " + end() + "%}"


def random_snippet(random):
    if random.random() < 0.5:
        return "{{ " + _expression(random, 3) + " }}", None
    return _space(random) + _block(random, 3) + _space(random) + _block(random, 2) + _space(random), None
