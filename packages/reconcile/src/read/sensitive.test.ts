import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collectSensitive, isMarked, isSensitive, marked } from './sensitive.ts';

const collected = (value: unknown) => {
  const into = new Set<string>();
  collectSensitive(value, into);
  return [...into].toSorted((left, right) => (left < right ? -1 : 1));
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('of a sensitive object is sensitive', () => {
  test('its content, as it stands and decoded, and not its names and labels', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'named', labels: { app: 'labelled' } },
      type: 'Opaque',
      data: { password: base64('hunter2') },
      stringData: { plain: 'in the open' },
    };
    assert.deepEqual(collected(secret), ['aHVudGVyMg==', 'hunter2', 'in the open']);
  });

  test('annotations of a sensitive object are sensitive, because they may hold a copy of all of it', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"aHVudGVyMg=="}}' };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'named', annotations } };
    assert.deepEqual(collected(secret), [annotations['kubectl.kubernetes.io/last-applied-configuration']]);
  });

  test('everything that a projection made of it, whatever it looks like', () => {
    assert.deepEqual(collected('hunter2'), ['hunter2']);
    assert.deepEqual(collected([{ deep: ['hunter2'] }]), ['hunter2']);
    assert.deepEqual(collected({ kind: 'Secret', value: 'hunter2' }), ['Secret', 'hunter2']);
  });

  test('nothing that is too short to be a secret, is no text, or no base64 of one', () => {
    assert.deepEqual(collected({ a: 'ab', b: 7, c: true, d: null, e: undefined }), []);
    assert.deepEqual(collected(Buffer.from([255, 254, 253]).toString('base64')), ['//79']);
    assert.deepEqual(collected('not base64!'), ['not base64!']);
  });
});

describe('a text is sensitive', () => {
  const sensitive = new Set(['hunter2', '{"user":"admin","password":"correct horse"}']);
  const cases: [text: string, is: boolean][] = [
    ['hunter2', true],
    ['password=hunter2', true],
    ['correct horse', true],
    ['hunter', true],
    ['hunt', false],
    ['something else', false],
    ['', false],
    ['ad', false],
  ];
  for (const [text, is] of cases)
    test(`${is ? '' : 'not '}when it is ${JSON.stringify(text)}`, () => assert.equal(isSensitive(text, sensitive), is));

  test('not when nothing sensitive was read', () => {
    assert.equal(isSensitive('hunter2', undefined), false);
  });
});

describe('a value is marked', () => {
  const sensitive = new Set(['hunter2', 'other secret']);

  test('a value is marked with exactly the sensitive strings in it', () => {
    const value = { a: ['x', 'hunter2'], b: 'p=hunter2' };
    assert.deepEqual(marked(value, sensitive), { $value: value, $sensitive: ['hunter2', 'p=hunter2'] });
  });

  test('not at all when it has none: it compares equal when a secret that is not in it changes', () => {
    const value = { exists: true, name: 'named' };
    assert.equal(marked(value, sensitive), value);
    assert.equal(marked(value, undefined), value);
    assert.equal(isMarked(marked(value, sensitive)), false);
    assert.equal(marked(undefined, sensitive), undefined);
  });

  test('the same in whatever order its parts were read', () => {
    const [one, two] = [
      { a: 'hunter2', b: 'other secret' },
      { b: 'other secret', a: 'hunter2' },
    ];
    assert.deepEqual(marked(one, sensitive), marked(two, sensitive));
  });

  test('also where it holds bytes', () => {
    const bytes = Buffer.from('hunter2');
    assert.ok(isMarked(marked({ bytes }, new Set([bytes.toString('base64')]))));
  });
});
