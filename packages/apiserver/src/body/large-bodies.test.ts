// Bodies of the permitted size, whatever is in them, do not stop the process.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { parse } from 'yaml';
import { longestTurn } from '../event-loop.test-support.ts';
import { createBodyParser } from './body-parser.ts';
import type { TextForm } from './body-text.ts';
import { readYaml } from './yaml-text.ts';

const sender = { user: 'jane', connection: {} };
const LIMIT = 3 * 1024 * 1024;

function parserOf(t: TestContext) {
  const parser = createBodyParser(systemClock);
  t.after(() => parser.close());
  return (text: string, form: TextForm) => Promise.resolve().then(() => parser.parse(text, form, sender));
}

const lines = (line: (index: number) => string, bytes: number) => {
  const all: string[] = [];
  for (let size = 0, index = 0; size < bytes; index += 1) size += all[all.push(line(index)) - 1]?.length ?? 1;
  return all.join('');
};

const TOO_MANY = /the body has more than 50000 values/;

const bodies: [what: string, form: TextForm, text: () => string, outcome: RegExp | undefined][] = [
  [
    'YAML with long lines',
    'yaml',
    () => `data:\n${lines((i) => `  k${i}: ${'x'.repeat(200)}\n`, LIMIT - 20_000)}`,
    undefined,
  ],
  ['YAML with many short keys', 'yaml', () => `data:\n${lines((i) => `  k${i}: v\n`, LIMIT - 20_000)}`, TOO_MANY],
  ['YAML with many lists', 'yaml', () => lines(() => '- []\n', LIMIT - 20_000), TOO_MANY],
  ['YAML in flow style', 'yaml', () => `[${lines(() => '{a: b}, ', LIMIT - 20_000)}]`, TOO_MANY],
  ['YAML of aliases of aliases', 'yaml', () => aliases(12), TOO_MANY],
  ['YAML that contains itself', 'yaml', () => '&a [*a]', /levels deep/],
  [
    'YAML that is deep by its aliases',
    'yaml',
    () => lines((i) => `a${i}: &a${i} [*a${i - 1}]\n`, 50_000).replace('*a-1', ''),
    /levels deep/,
  ],
  ['YAML that is deep', 'yaml', () => '['.repeat(100_000), /levels deep/],
  ['JSON with a long text', 'json', () => `{"a":"${'x'.repeat(LIMIT - 100)}"}`, undefined],
  ['JSON with long texts', 'json', () => `[${lines((i) => `"${i}${'x'.repeat(200)}",`, LIMIT - 20_000)}0]`, undefined],
  ['JSON with many keys', 'json', () => `{${lines((i) => `"${i}":0,`, LIMIT - 20_000)}"a":0}`, TOO_MANY],
  ['JSON with many lists', 'json', () => `[${lines(() => '[],', LIMIT - 20_000)}0]`, TOO_MANY],
  ['JSON that is deep', 'json', () => '['.repeat(LIMIT / 2) + ']'.repeat(LIMIT / 2), /levels deep/],
];

function aliases(levels: number): string {
  let text = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n';
  for (let level = 1; level <= levels; level += 1) {
    text += `a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]\n`;
  }
  return text;
}

for (const [what, form, text, outcome] of bodies) {
  test(`${what} does not occupy the event loop`, async (t) => {
    const read = parserOf(t);
    // Another body starts the thread, because loading it is not measured.
    await read(`a: ${'x'.repeat(100_000)}`, 'yaml');
    const body = text();
    assert.ok(body.length <= LIMIT, String(body.length));
    const longest = await longestTurn(async () => {
      if (outcome) await assert.rejects(read(body, form), { message: outcome });
      else assert.equal((await read(body, form)).problem, undefined);
    });
    assert.ok(longest < 100, `${Math.round(longest)} ms`);
  });
}

test('large bodies have the same results and reports as small ones', async (t) => {
  const read = parserOf(t);
  const filler = `filler: ${'x'.repeat(100_000)}\n`;
  const { duplicates, value } = await read(`a: 1\n${filler}a: 2\nb:\n  c: 1\n  c: 2\n`, 'yaml');
  assert.deepEqual(duplicates, [
    'yaml: unmarshal errors:\n  line 3: key "a" already set in map\n  line 6: key "c" already set in map',
  ]);
  assert.equal((value as { a: number }).a, 2);
  assert.match((await read(`${filler}a: [`, 'yaml')).problem ?? '', /^yaml: line 2: /);
  const json = await read(`{"a":1,"filler":"${'x'.repeat(100_000)}","a":2}`, 'json');
  assert.deepEqual(json.duplicates, ['duplicate field "a"']);
  assert.match((await read(`{"filler":"${'x'.repeat(100_000)}"`, 'json')).problem ?? '', /unexpected end/);
});

test('YAML is read as `yaml` reads it', () => {
  for (const text of [
    'a: 010\nb: 0o10\nc: 1e3\nd: 1_000\ne: yes\nf: on\ng: ~\nh: 2001-01-01\ni: 0x1F\nj: .5\nk: -0\nl: "\\u00e9"',
    'a: &x [1, {b: c}]\nd: *x',
    'a: |\n  one\n  two\nb: >-\n  one\n  two\n\n  three\nc: "x\\\n  y"',
    '? a\n: b\n? c\n',
    "'a': 'it''s'\n\"b\": d # comment\n",
    '- - a\n  - b\n- c: d\n  e: f\n-\n  - g\n',
    '{a: [b, c: d], e: {}}',
    '# nothing',
    '',
    'plain text',
    '--- !!map\na: !!str 1\n...\n',
    '__proto__: {a: 1}\nconstructor: 2\n',
    '<<: {a: 1}\nb: 2\n',
    'a:\n- b\n-  c\nd: e\n',
  ]) {
    assert.deepEqual(readYaml(text), { value: parse(text, { stringKeys: true }) as unknown, duplicates: [] }, text);
  }
});
