import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { interpolate } from './placeholder.ts';

const filled = (value: unknown) => interpolate({ value }, ({ provider, name, key }) => `/${provider}/${name}/${key}`);

describe('a placeholder', () => {
  const cases: [value: unknown, becomes: unknown][] = [
    ['${secret:kms:password.txt}', '/secret/kms/password.txt'],
    ['${configmap:rules:a}', '/configmap/rules/a'],
    ['^${secret:a:b}', '${secret:a:b}'],
    ['^^${secret:a:b}', '^/secret/a/b'],
    ['^^^${secret:a:b}', '^${secret:a:b}'],
    ['^^^^${secret:a:b}', '^^/secret/a/b'],
    [`\${secret:${'n'.repeat(120)}:b}`, `/secret/${'n'.repeat(120)}/b`],
    [`\${configmap:${'n'.repeat(253)}:b}`, `/configmap/${'n'.repeat(253)}/b`],
    ['plain', 'plain'],
    ['$notone', '$notone'],
    ['price: ${5}', 'price: ${5}'],
    ['${env:HOME}', '${env:HOME}'],
    ['${HOME:-/root}', '${HOME:-/root}'],
    ['${secret}', '${secret}'],
    [5, 5],
    [null, null],
    [[{ deep: ['${secret:a:b}'] }], [{ deep: ['/secret/a/b'] }]],
  ];
  for (const [value, becomes] of cases) {
    test(`${JSON.stringify(value)} becomes ${JSON.stringify(becomes)}`, () => {
      assert.deepEqual(filled(value).config, { value: becomes });
      assert.deepEqual(filled(value).faults, []);
    });
  }

  for (const [value, problem] of [
    ['x${secret:a:b}', /whole value/],
    ['${secret:a:b}x', /whole value/],
    ['${secret:a}', /whole value/],
    ['${secret:a:b', /whole value/],
    ['${Secret:a:b}', /whole value/],
    ['${ configmap:a:b }', /whole value/],
    ['${secret::b}', /whole value/],
    ['${secret:a:}', /whole value/],
    ['${secret:a:b:c}', /whole value/],
    ['${secret:a/b:c}', /whole value/],
    [`\${secret:${'n'.repeat(254)}:b}`, /whole value/],
    ['${vault:a:b}', /no provider "vault"/],
  ] as const) {
    test(`${JSON.stringify(value)} is a fault that names its path`, () => {
      const { faults, references } = interpolate({ list: [{ value }] }, () => '');
      assert.equal(faults.length, 1);
      assert.equal(faults[0]?.path, '.list[0].value');
      assert.match(faults[0].problem, problem);
      assert.deepEqual(references, []);
    });
  }

  test('a placeholder in a key stays as it is', () => {
    const { config, references } = interpolate({ '${secret:a:b}': 1 }, () => 'no');
    assert.deepEqual([config, references], [{ '${secret:a:b}': 1 }, []]);
  });

  test('is listed once, Secrets first, by name and key', () => {
    const { references } = interpolate(
      { a: '${configmap:x:1}', b: '${secret:z:1}', c: '${secret:a:2}', d: '${secret:z:1}' },
      () => '',
    );
    assert.deepEqual(
      references.map(({ provider, name, key }) => `${provider} ${name} ${key}`),
      ['secret a 2', 'secret z 1', 'configmap x 1'],
    );
  });
});
