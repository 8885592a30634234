import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCelCompiler } from './compile.ts';

const compiler = createCelCompiler();
const extended = createCelCompiler({ extensions: true });

function evaluate(text: string, from = compiler): unknown {
  const compiled = from.compile(text, []);
  if (!('program' in compiled)) return 'issues' in compiled ? compiled.issues : compiled.failure;
  try {
    return compiled.program.run([]).value;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : error;
  }
}

// Each expression is true.
const HOLDS: Record<string, string[]> = {
  arithmetic: [
    '1 + 2 * 3 - 4 / 2 == 5 && 7 % 4 == 3 && -7 / 2 == -3 && -7 % 4 == -3',
    '1u + 2u == 3u && 5u - 2u == 3u && 7u % 4u == 3u',
    '1.5 * 2.0 == 3.0 && 1.0 / 0.0 > 1.0e308',
    "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]",
    "duration('1h') + duration('30m') == duration('90m')",
    "timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')",
    "timestamp('2020-01-02T00:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('24h')",
  ],
  comparison: [
    "1 < 2 && 2u >= 1u && 1.5 > 1.0 && 'a' < 'b' && b'a' < b'b' && false < true",
    "1 < 1.5 && 2u > 1 && '\uffff' < '😀'",
    "[1, 2] == [1, 2] && [1, 2] != [2, 1] && {'a': 1, 'b': 2} == {'b': 2, 'a': 1}",
    'dyn(1) == 1.0 && dyn(1) == 1u && dyn(1) != "1"',
    "null == null && dyn(null) != 1 && 'a' in ['a'] && 'a' in {'a': 1} && !(2 in [1])",
  ],
  logic: [
    'true || 1 / 0 == 1',
    '1 / 0 == 1 || true',
    '!(1 / 0 == 1 && false)',
    'true ? true : 1 / 0 == 1',
    '[0, 1].exists(x, 1 / x == 1)',
    '![1, 0].all(x, 1 / x == 2)',
  ],
  macros: [
    "has({'a': 1}.a) && !has({'a': 1}.b)",
    '[1, 2].all(x, x > 0) && [].all(x, false) && ![].exists(x, true)',
    '[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)',
    '[1, 2].map(x, x * 2) == [2, 4] && [1, 2].map(x, x > 1, x * 2) == [4] && [1, 2].filter(x, x > 1) == [2]',
    "{'a': 1}.all(k, k == 'a') && {'a': 1}.map(k, k) == ['a']",
    '[5, 6].all(i, v, v == i + 5) && [5, 6].exists(i, v, i == 1 && v == 6) && [5].existsOne(i, v, v == 5)',
    "[5, 6].transformList(i, v, i + v) == [5, 7] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "['a'].transformMapEntry(i, v, {v: i}) == {'a': 0} && [1, 2].transformList(i, v, i > 0, v) == [2]",
  ],
  conversion: [
    "int('12') == 12 && int(1.9) == 1 && int(-1.9) == -1 && int(5u) == 5 && int(timestamp('1970-01-01T00:01:00Z')) == 60",
    "uint(5) == 5u && double(2) == 2.0 && double('1e3') == 1000.0 && bool('true') && !bool('f')",
    "string(1) == '1' && string(1.5) == '1.5' && string(true) == 'true' && string(b'a') == 'a' && bytes('ä') == b'\\xc3\\xa4'",
    "string(duration('1h1ms')) == '3600.001s' && string(timestamp('2020-01-01T01:00:00+01:00')) == '2020-01-01T01:00:00+01:00'",
    "type(1) == int && type('') == string && type([]) == list && type({}) == map && type(null) == null_type && type(int) == type",
    "type(duration('1s')) == google.protobuf.Duration",
  ],
  times: [
    "timestamp('2024-02-29T13:14:15.678Z').getFullYear() == 2024 && timestamp('2024-02-29T13:14:15Z').getMonth() == 1",
    "timestamp('2024-02-29T13:14:15Z').getDate() == 29 && timestamp('2024-02-29T13:14:15Z').getDayOfMonth() == 28",
    "timestamp('2024-02-29T13:14:15Z').getDayOfYear() == 59 && timestamp('2024-02-29T13:14:15Z').getDayOfWeek() == 4",
    "timestamp('2024-02-29T13:14:15Z').getHours() == 13 && timestamp('2024-02-29T13:14:15Z').getHours('-05:00') == 8",
    "timestamp('2024-07-01T12:00:00Z').getHours('Europe/Berlin') == 14",
    "timestamp('2024-02-29T13:14:15.678Z').getMilliseconds() == 678 && timestamp('2024-02-29T13:14:15Z').getSeconds() == 15",
    "duration('1h30m').getHours() == 1 && duration('1h30m').getMinutes() == 90 && duration('1.5s').getMilliseconds() == 1500",
  ],
  strings: [
    "'tacocat'.charAt(3) == 'o' && 'a😀b'.charAt(1) == '😀' && 'ab'.charAt(2) == ''",
    "'hello'.indexOf('l') == 2 && 'hello'.indexOf('l', 3) == 3 && 'hello'.indexOf('x') == -1 && '😀a'.indexOf('a') == 1",
    "'hello'.lastIndexOf('l') == 3 && 'hello'.lastIndexOf('l', 2) == 2",
    "'TaCo'.lowerAscii() == 'taco' && 'TaCoÄ'.upperAscii() == 'TACOÄ'",
    "'a-b-c'.replace('-', '+') == 'a+b+c' && 'a-b-c'.replace('-', '+', 1) == 'a+b-c' && 'ab'.replace('', '_') == '_a_b_'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', 0) == []",
    "'hello'.substring(1) == 'ello' && 'hello'.substring(1, 3) == 'el' && '  a \\t'.trim() == 'a'",
    "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && strings.quote('a\"b') == '\"a\\\\\"b\"'",
    "size('a😀') == 2 && 'abc'.size() == 3 && 'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
  ],
  format: [
    "'%s|%d|%%'.format(['a', 1]) == 'a|1|%' && '%s'.format([[1, 2]]) == '[1, 2]' && '%s'.format([true]) == 'true'",
    "'%.2f'.format([1.005]) == '1.00' && '%.0f'.format([2.5]) == '2' && '%f'.format([1234.5]) == '1,234.500000'",
    "'%x %X %o %b'.format([255, 255, 8, 5]) == 'ff FF 10 101' && '%x'.format(['a']) == '61' && '%b'.format([true]) == '1'",
    '\'%s\'.format([{"a": "b"}]) == \'{"a":"b"}\' && \'%s\'.format([["a", duration("1m")]]) == \'["a", duration("60s")]\'',
  ],
  regex: [
    "'abc'.matches('^a.c$') && !'abc'.matches('^b') && matches('abc', 'b')",
    "'a1b22'.find('[0-9]+') == '1' && 'ab'.find('[0-9]') == '' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'a1b22'.findAll('[0-9]+', -1) == ['1', '22']",
  ],
  lists: [
    '[1, 2, 2].isSorted() && !["b", "a"].isSorted() && [1, 2].sum() == 3 && [1.5, 2.5].sum() == 4.0',
    "[1, 3, 2].max() == 3 && [1, 3, 2].min() == 1 && ['a', 'c'].max() == 'c' && [duration('1s'), duration('2s')].sum() == duration('3s')",
    '[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1',
    '[1, 2, 3].slice(1, 2) == [2] && [[1], [2, 3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]',
    "[3, 1, 2].sort() == [1, 2, 3] && ['bb', 'a'].sortBy(e, size(e)) == ['a', 'bb'] && [1, 2].reverse() == [2, 1]",
    'lists.range(3) == [0, 1, 2] && [1, 2, 1, 2].distinct() == [1, 2] && [1, 2].first().value() == 1 && ![].last().hasValue()',
  ],
  sets: [
    'sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [2]) && sets.equivalent([1, 1, 2], [2, 1])',
    'sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])',
  ],
  optionals: [
    'optional.of(1).value() == 1 && optional.none().orValue(2) == 2 && optional.of(1).or(optional.of(2)) == optional.of(1)',
    "!optional.ofNonZeroValue('').hasValue() && {'a': {'b': 1}}.?a.?b.orValue(0) == 1 && !{'a': 1}.?b.hasValue()",
    "[1][?0] == optional.of(1) && [1][?5] == optional.none() && {'a': 1}[?'b'].orValue(7) == 7",
    'optional.of(2).optMap(x, x * 2) == optional.of(4) && optional.of(2).optFlatMap(x, optional.none()) == optional.none()',
    "[?optional.of(1), ?optional.none()] == [1] && {?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}",
  ],
  quantities: [
    "quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && quantity('1k').isGreaterThan(quantity('999'))",
    "quantity('50m').isLessThan(quantity('1')) && sign(quantity('-1')) == -1 && quantity('1') == quantity('1000m')",
    "quantity('5').asInteger() == 5 && !quantity('500m').isInteger() && quantity('500m').asApproximateFloat() == 0.5",
    "quantity('1').add(quantity('2')) == quantity('3') && quantity('1').sub(2) == quantity('-1') && isQuantity('1Ki') && !isQuantity('x')",
  ],
  addresses: [
    "ip('10.0.0.1').family() == 4 && ip('::1').family() == 6 && isIP('1.2.3.4') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4')",
    "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:db8:0:0::1') && string(ip('2001:DB8::1')) == '2001:db8::1'",
    "ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified() && ip('169.254.1.1').isLinkLocalUnicast()",
    "ip('224.0.0.5').isLinkLocalMulticast() && ip('10.1.1.1').isGlobalUnicast() && !ip('ff02::1').isGlobalUnicast()",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8 && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "isCIDR('::/0') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && string(cidr('fd00::/8')) == 'fd00::/8'",
  ],
  urls: [
    "url('https://user@example.com:8443/a%20b?x=1&x=2&y=%26#f').getScheme() == 'https' && isURL('/path') && !isURL('path')",
    "url('https://example.com:8443/').getHost() == 'example.com:8443' && url('https://[::1]:80/').getHostname() == '::1'",
    "url('https://example.com:8443/').getPort() == '8443' && url('https://example.com/a b').getEscapedPath() == '/a%20b'",
    "url('https://e.com/?x=1&x=2&y=%26').getQuery() == {'x': ['1', '2'], 'y': ['&']}",
  ],
  formats: [
    "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').hasValue()",
    "format.named('uuid').value().validate('x').value() == ['does not match the UUID format'] && !format.named('none').hasValue()",
    "!format.qualifiedName().validate('example.com/name').hasValue() && format.labelValue().validate('-').hasValue()",
    "!format.dns1123SubdomainPrefix().validate('a.b-').hasValue() && format.dns1035Label().validate('1a').hasValue()",
  ],
  semvers: [
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3 && isSemver('1.0.0-rc.1+b')",
    "semver('1.10.0').isGreaterThan(semver('1.9.0')) && semver('1.0.0-alpha').isLessThan(semver('1.0.0'))",
    "semver('1.0.0-rc.2').compareTo(semver('1.0.0-rc.10')) == -1 && semver('1.0.0+a') == semver('1.0.0+b')",
    "!isSemver('1.0') && !isSemver('v1.0.0') && isSemver('v1.0', true) && semver('v01.2', true) == semver('1.2.0')",
  ],
};
for (const [title, expressions] of Object.entries(HOLDS)) {
  test(`expressions with ${title} evaluate as in CEL`, () => {
    for (const expression of expressions) assert.equal(evaluate(expression), true, expression);
  });
}

test('extensions that API servers do not offer are available on request', () => {
  const expressions = [
    'cel.bind(x, 2, x * x) == 4',
    'math.greatest(1, 3, 2) == 3 && math.least(1.5, 0.5) == 0.5 && math.round(-1.5) == -2.0 && math.bitAnd(6, 3) == 2',
    "base64.encode(b'hello') == 'aGVsbG8=' && base64.decode('aGVsbG8=') == b'hello' && 'abc'.reverse() == 'cba'",
    '[1, 2].includes(2)',
  ];
  for (const expression of expressions) {
    assert.equal(evaluate(expression, extended), true, expression);
    assert.match(String(evaluate(expression)), /undeclared reference|found no matching overload/);
  }
});

const FAILS: [expression: string, message: string][] = [
  ['1 / 0', 'division by zero'],
  ['1 % 0', 'modulus by zero'],
  ['9223372036854775807 + 1', 'integer overflow'],
  ['-9223372036854775808 / -1', 'integer overflow'],
  ['-(-9223372036854775807 - 1)', 'integer overflow'],
  ['0u - 1u', 'unsigned integer overflow'],
  ['uint(-1)', 'unsigned integer overflow'],
  ['int(1e19)', 'integer overflow'],
  ['[1][1]', 'index out of bounds: 1'],
  ['[1][-1]', 'index out of bounds: -1'],
  ["{'a': 1}['b']", 'no such key: b'],
  ["{'a': 1}.b", 'no such key: b'],
  ["dyn('a') + 1", 'no such overload'],
  ["dyn(1).startsWith('a')", 'no such overload'],
  ["'abc'.substring(2, 1)", 'invalid substring range. start: 2, end: 1'],
  ["'abc'.charAt(9)", 'index out of range: 9'],
  ['[].max()', 'max called on empty list'],
  ['[1].slice(0, 2)', 'cannot slice(0, 2), list is length 1'],
  ["'%d'.format(['a'])", 'error during formatting: decimal clause can only be used on integers, was given string'],
  ["'%s'.format([])", 'index 0 out of range'],
  ["'%z'.format([1])", 'could not parse formatting clause: unrecognized formatting clause "z"'],
  ['optional.none().value()', 'optional.none() dereference'],
  ["quantity('1').add(quantity('500m')).asInteger()", 'cannot convert value to integer'],
  ["semver('1.0')", 'No Major.Minor.Patch elements found'],
  [
    "ip('1.2.3.4.5').family()",
    'IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): unexpected character',
  ],
  ["url('x').getHost()", 'URL parse error during conversion from string: parse "x": invalid URI for request'],
  ["'a'.matches('(' + ')')", ''],
  ["'a'.matches('(' + 'a')", 'error parsing regexp: missing closing ): `(a`'],
  ["bool('x')", "type conversion error from 'string' to 'bool': x"],
  ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", 'timestamp overflow'],
];
test('a failed evaluation reports its cause', () => {
  for (const [expression, message] of FAILS) {
    const result = evaluate(expression);
    if (message === '') assert.equal(typeof result, 'boolean', expression);
    else assert.equal(result, `CelError: ${message}`, expression);
  }
});
