// Targets that hand changed texts to the readers of expressions: CEL and regular expressions.
import type { FuzzTarget } from '@capstan/testing';
import { CelError } from '../src/cel/errors.ts';
import { createRuleEvaluator } from '../src/cel/evaluator.ts';
import { compileRegexp, RegexpError } from '../src/regexp/index.ts';
import type { JsonSchema } from '../src/schema/json-schema.ts';

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 64 },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    items: {
      type: 'array',
      maxItems: 20,
      items: { type: 'object', properties: { key: { type: 'string' }, on: { type: 'boolean' } } },
    },
    tags: { type: 'object', additionalProperties: { type: 'string' } },
    any: { 'x-kubernetes-preserve-unknown-fields': true },
  },
};

const SELF = {
  name: 'web-1.example.com',
  count: 7,
  ratio: 0.5,
  items: [
    { key: 'a', on: true },
    { key: 'b', on: false },
  ],
  tags: { a: 'b', c: '2026-01-02T03:04:05Z' },
  any: { x: [1, { y: null }] },
};

export const cel: FuzzTarget = {
  name: 'cel',
  seeds: [
    "self.name.startsWith('web') && self.count > 3",
    "self.items.all(i, i.key.matches('^[a-z]+$')) || size(self.tags) < 3",
    'has(self.any.x) ? self.any.x.exists_one(v, v == 1) : false',
    "self.items.map(i, i.key).join(',') == 'a,b'",
    "timestamp(self.tags['c']) + duration('1h') > timestamp('2026-01-01T00:00:00Z')",
    "quantity('1Gi').isGreaterThan(quantity('100m')) && isURL('https://a.b/c?d')",
    "[1, 2u, 3.0, b'x', r'y', null, {'a': 1}].size() == 7",
    'cel.bind(x, self.count, x * x - -x % 2 == 3)',
    "self.name.replace('a', 'bb').lowerAscii().split('.').size() > 1 && self.name.find('[0-9]+') == '1'",
    "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    'optional.of(1).orValue(2) == 1 && self.?name.hasValue()',
    "'%s %d %.3f %x'.format(['a', 1, 2.5, 255]) != ''",
  ],
  tokens: [
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '.',
    '?',
    ':',
    '!',
    '-',
    '&&',
    '||',
    ' in ',
    'self',
    'oldSelf',
    '.all(x, ',
    '.exists(x, ',
    '.map(x, ',
    '.filter(x, ',
    "'''",
    '"""',
    "r'",
    '\\u0041',
    '\\U0010FFFF',
    '\\x',
    '\\377',
    '9223372036854775807',
    '-9223372036854775808',
    '1e308',
    '0x7f',
    '18446744073709551615u',
    '.matches(',
    '.findAll(',
    '.replace(',
    '.split(',
    '.join(',
    '.format([',
    'dyn(',
    'type(',
    'duration(',
    "'(a*)*b'",
    '__proto__',
    'constructor',
    '[self',
    '(self + ',
    "'a' + ",
    '!',
    '1 + ',
    '-',
    '// x\n',
    '.sum()',
    '.sort()',
    'sets.contains(',
    'math.',
    'cel.bind(x, ',
    'toString',
    '[1,2,3].map(y, ',
  ],
  // Rules beyond this are too long for a definition that can be stored together with others.
  maxBytes: 64 * 1024,
  maxMs: 2_000,
  read(input) {
    const text = input.toString();
    const budget = { remaining: 10_000_000 };
    const outcome = createRuleEvaluator()({
      rule: { rule: text, messageExpression: text },
      schema: SCHEMA,
      isResource: false,
      self: SELF,
      oldSelf: SELF,
      budget,
    });
    if ('error' in outcome) throw new CelError('refused');
  },
  isRefusal: (error) => error instanceof CelError,
};

const SUBJECTS = ['', 'a', 'a'.repeat(2_000), 'web-1.example.com', 'é\u{1f600}\n\tb', 'ab'.repeat(500)];

export const regexp: FuzzTarget = {
  name: 'regular-expression',
  seeds: [
    '^[a-z]([-a-z0-9]*[a-z0-9])?$',
    '(a*)*b',
    '(?i:x|y)+?',
    String.raw`\p{Greek}[[:alpha:]\d]{2,5}\bz`,
    '(?P<name>a{1,3}){2}|$',
    String.raw`\Qa.b\E\x{10FFFF}`,
    '[^\\n\\x00-\\x1f]',
  ],
  tokens: [
    '(',
    ')',
    '(?:',
    '(?i)',
    '(?P<n>',
    '[',
    '[^',
    ']',
    '{1000}',
    '{2,}',
    '{0,1000}',
    '*',
    '+?',
    '|',
    '\\b',
    '\\pN',
    '\\p{Han}',
    '[[:word:]]',
    '\\Q',
    '\\E',
    '\\x{',
    '$',
    '^',
    '.',
    '\u{1f600}',
    '(a|b)*',
    'x{10}',
  ],
  maxBytes: 32 * 1024,
  maxMs: 2_000,
  read(input) {
    const compiled = compileRegexp(input.toString());
    for (const subject of SUBJECTS) compiled.test(subject);
    compiled.findAll('aabab web-1', 5);
    compiled.replaceAll('aab', '<$0>');
  },
  isRefusal: (error) => error instanceof RegexpError,
};
