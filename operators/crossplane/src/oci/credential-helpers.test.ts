import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { keychainWithHelpers, systemHelpers } from './credential-helpers.ts';
import { keychainOfDockerConfig } from './keychain.ts';

const auths = { 'stored.example': { auth: Buffer.from('me:open sesame').toString('base64') } };

function chain(config: object, answers: Record<string, string | undefined>, asked: string[] = []) {
  const text = JSON.stringify({ auths, ...config });
  return keychainWithHelpers(text, 'config.json', keychainOfDockerConfig(text, 'config.json'), (helper, server) => {
    asked.push(`${helper} ${server}`);
    return Promise.resolve(answers[server]);
  });
}

const basic = (username: string, password: string) => ({ type: 'basic', username, password });

describe('credential helpers', () => {
  test('credential helpers of a registry come before the store, and both before the file; each is asked once', async () => {
    const asked: string[] = [];
    const detail = (user: string) => JSON.stringify({ ServerURL: 'x', Username: user, Secret: 's3cr3t' });
    const keychain = chain(
      { credHelpers: { 'cloud.example': 'cloud' }, credsStore: 'desktop' },
      { 'cloud.example': detail('robot'), 'https://index.docker.io/v1/': detail('<token>') },
      asked,
    );
    for (let turn = 0; turn < 2; turn++)
      assert.deepEqual(await keychain('cloud.example', 'team/p'), basic('robot', 's3cr3t'));
    assert.deepEqual(await keychain('index.docker.io', 'p'), { type: 'identity', token: 's3cr3t' });
    assert.deepEqual(await keychain('stored.example', 'p'), basic('me', 'open sesame'));
    assert.equal(await keychain('other.example', 'p'), undefined);
    assert.deepEqual(asked, [
      'cloud cloud.example',
      'desktop https://index.docker.io/v1/',
      'desktop stored.example',
      'desktop other.example',
    ]);
  });

  for (const key of ['https://index.docker.io/v1/', 'docker.io', 'index.docker.io'])
    test(`credential helpers of Docker Hub are found under ${key}`, async () => {
      const asked: string[] = [];
      const keychain = chain({ credHelpers: { [key]: 'hub', 'https://Cloud.example': 'cloud' } }, {}, asked);
      await keychain('index.docker.io', 'p');
      await keychain('cloud.example', 'p');
      await keychain('cloud.example:5000', 'p');
      assert.deepEqual(asked, ['hub https://index.docker.io/v1/', 'cloud cloud.example']);
    });

  test('credential helpers that are named like no program are not run; without any the file alone counts', async () => {
    const asked: string[] = [];
    const keychain = chain({ credHelpers: { 'cloud.example': '../../bin/sh' } }, {}, asked);
    assert.equal(await keychain('cloud.example', 'p'), undefined);
    assert.deepEqual(asked, []);
  });

  test('are programs that get the registry on their input; one that is missing or talks nonsense is named without its words', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-helper-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const program = (name: string, lines: string) => {
      writeFileSync(join(folder, `docker-credential-${name}`), `#!/bin/sh\n${lines}\n`);
      chmodSync(join(folder, `docker-credential-${name}`), 0o755);
    };
    program('echo', 'read server; echo "{\\"Username\\":\\"$1\\",\\"Secret\\":\\"for $server\\"}"');
    program('none', 'echo credentials not found in native keychain; exit 1');
    program('broken', 'echo a-password-that-nobody-sees');
    const ask = systemHelpers({ PATH: `${folder}:/usr/bin:/bin` });
    const of = (store: string) =>
      keychainWithHelpers(JSON.stringify({ credsStore: store }), 'config.json', () => undefined, ask);
    assert.deepEqual(await of('echo')('a.example', 'p'), basic('get', 'for a.example'));
    assert.equal(await of('none')('a.example', 'p'), undefined);
    await assert.rejects(
      async () => of('broken')('a.example', 'p'),
      (error: Error) => /docker-credential-broken.*not JSON/.test(error.message) && !/nobody-sees/.test(error.message),
    );
    await assert.rejects(async () => of('absent')('a.example', 'p'), /docker-credential-absent.*it is not there/);
  });
});
