import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstOf, keychainOf, keychainOfDockerConfig } from './keychain.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (auths: unknown, name = 's') => ({
  name,
  data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) },
});
const userAt = (keychain: ReturnType<typeof keychainOf>, registry: string, repository = 'a/b') => {
  const found = keychain(registry, repository);
  return found?.type === 'basic' ? found.username : found?.type;
};

describe('a pull secret', () => {
  for (const [key, registry, repository, matches] of [
    ['gcr.io', 'gcr.io', 'a/b', true],
    ['https://gcr.io', 'gcr.io', 'a/b', true],
    ['https://gcr.io/v2/', 'gcr.io', 'a/b', true],
    ['GCR.io', 'gcr.io', 'a/b', true],
    ['gcr.io/a', 'gcr.io', 'a/b', true],
    ['gcr.io/a', 'gcr.io', 'ab/c', false],
    ['gcr.io/a/b/c', 'gcr.io', 'a/b', false],
    ['*.gcr.io', 'eu.gcr.io', 'a/b', true],
    ['*.gcr.io', 'gcr.io', 'a/b', false],
    ['*.gcr.io', 'a.eu.gcr.io', 'a/b', false],
    ['*gcr.io', 'xgcr.io', 'a/b', true],
    ['gcr.io', 'gcr.io:443', 'a/b', true],
    ['gcr.io:443', 'gcr.io', 'a/b', false],
    ['localhost:5000', 'localhost:5000', 'a/b', true],
    ['localhost:5000', 'localhost:5001', 'a/b', false],
    ['[::1]:5000', '[::1]:5000', 'a/b', true],
    ['https://index.docker.io/v1/', 'index.docker.io', 'library/x', true],
    ['docker.io', 'index.docker.io', 'library/x', true],
    ['evil-gcr.io', 'gcr.io', 'a/b', false],
    ['gcr.io', 'gcr.io.evil.org', 'a/b', false],
  ] as const)
    test(`a pull secret for ${key} ${matches ? 'is' : 'is not'} for ${registry}/${repository}`, () => {
      const keychain = keychainOf([secret({ [key]: { auth: base64('me:secret') } })]);
      assert.deepEqual(
        keychain(registry, repository),
        matches ? { type: 'basic', username: 'me', password: 'secret' } : undefined,
      );
    });

  test('a pull secret of any form is read', () => {
    for (const [entry, expected] of [
      [{ auth: base64('u:p:with:colons') }, { type: 'basic', username: 'u', password: 'p:with:colons' }],
      [
        { username: 'u', password: 'p' },
        { type: 'basic', username: 'u', password: 'p' },
      ],
      [
        { identitytoken: 'i', auth: base64('u:p') },
        { type: 'identity', token: 'i' },
      ],
      [{ registrytoken: 't' }, { type: 'bearer', token: 't' }],
      [{ auth: 'not base64 of a pair' }, undefined],
      [{}, undefined],
    ] as const)
      assert.deepEqual(keychainOf([secret({ 'r.io': entry })])('r.io', 'x'), expected);
    const old = { name: 'old', data: { '.dockercfg': base64(JSON.stringify({ 'r.io': { auth: base64('u:p') } })) } };
    assert.equal(userAt(keychainOf([old]), 'r.io'), 'u');
    assert.equal(userAt(keychainOfDockerConfig('{"auths":{"r.io":{"username":"f"}}}', 'file'), 'r.io'), 'f');
  });

  test('a pull secret with the longest path wins, then one without asterisks, then the first', () => {
    const entry = (username: string) => ({ username, password: 'p' });
    const keychain = keychainOf([
      secret({ '*.r.io': entry('wild'), 'eu.r.io': entry('plain'), 'eu.r.io/a': entry('path') }),
      secret({ 'eu.r.io': entry('later'), 'other.io': entry('other') }),
    ]);
    assert.equal(userAt(keychain, 'eu.r.io', 'a/b'), 'path');
    assert.equal(userAt(keychain, 'eu.r.io', 'b'), 'plain');
    assert.equal(userAt(keychain, 'us.r.io', 'b'), 'wild');
    assert.equal(userAt(keychain, 'other.io', 'b'), 'other');
    assert.equal(userAt(firstOf([keychain, () => ({ type: 'bearer', token: 't' })]), 'none.io'), 'bearer');
  });

  test('an invalid pull secret is reported without its content', () => {
    const cases: (Record<string, string> | undefined)[] = [
      undefined,
      {},
      { '.dockerconfigjson': base64('{"auths": "hunter2"}') },
      { '.dockercfg': base64('hunter2') },
    ];
    for (const data of cases)
      assert.throws(
        () => keychainOf([{ name: 'mine', data }]),
        (error: unknown) => {
          assert.match(String(error), /pull secret "mine" cannot be used/);
          assert.doesNotMatch(`${String(error)}${JSON.stringify(error)}`, /hunter2/);
          return true;
        },
      );
  });
});
