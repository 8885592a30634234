import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keystoneUrl, readCloudCredentials } from './credentials.ts';

function read(files: Record<string, string>, more: { endpoint?: string; env?: Record<string, string> } = {}) {
  const missing = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  return readCloudCredentials({
    folder: '/secret',
    files: {
      read: (path) => {
        const text = files[path.slice('/secret/'.length)];
        return text === undefined ? Promise.reject(missing) : Promise.resolve(text);
      },
    },
    ...more,
  });
}

const password = { username: 'u', password: 'p\n', 'auth-url': 'http://cloud:5000', 'tenant-name': 'admin' };

describe('credentials of a cloud', () => {
  it('credentials of a cloud that are no secrets may come from variables; the Secret counts first, and a password is never taken from there', async () => {
    const env = {
      OS_AUTH_URL: 'http://cloud:5000',
      OS_USERNAME: 'u',
      OS_PROJECT_NAME: 'admin',
      OS_USER_DOMAIN_NAME: 'Users',
      OS_REGION_NAME: 'one',
      OS_PASSWORD: 'not this one',
    };
    assert.deepEqual(await read({ password: 'p' }, { env }), {
      authUrl: 'http://cloud:5000/v3',
      login: { username: 'u', password: 'p', userDomain: 'Users', project: 'admin', projectDomain: 'Users' },
      region: 'one',
      ca: undefined,
    });
    assert.equal((await read({ ...password, region: 'two' }, { env })).region, 'two');
    await assert.rejects(read({}, { env }), /none of the keys password/);
  });

  it('are read under each of their spellings', async () => {
    const expected = {
      authUrl: 'http://cloud:5000/v3',
      login: { username: 'u', password: 'p', userDomain: 'Default', project: 'admin', projectDomain: 'Default' },
      region: undefined,
      ca: undefined,
    };
    assert.deepEqual(await read(password), expected);
    const others = {
      OS_USERNAME: 'u',
      OS_PASSWORD: 'p',
      keystoneUrl: 'http://cloud:5000/v3/',
      OS_PROJECT_NAME: 'admin',
    };
    assert.deepEqual(await read(others), expected);
    const domains = { ...password, userDomain: 'Users', region: 'one', 'ca.crt': 'PEM' };
    assert.deepEqual(await read(domains), {
      authUrl: 'http://cloud:5000/v3',
      login: { username: 'u', password: 'p', userDomain: 'Users', project: 'admin', projectDomain: 'Users' },
      region: 'one',
      ca: 'PEM',
    });
  });

  it('can be an application credential, and the address can come from elsewhere', async () => {
    const secret = { 'application-credential-id': 'i', 'application-credential-secret': 's' };
    const { login, authUrl } = await read(secret, { endpoint: 'https://other:5000' });
    assert.deepEqual(login, { id: 'i', secret: 's' });
    assert.equal(authUrl, 'https://other:5000/v3');
    await assert.rejects(read({ 'application-credential-id': 'i' }), /without application-credential-secret/);
  });

  it('credentials of a cloud that are incomplete are reported with the missing key', async () => {
    await assert.rejects(read({ ...password, password: '' }), /has none of the keys password, OS_PASSWORD/);
    await assert.rejects(read({}), /has none of the keys username/);
    await assert.rejects(read({ ...password, 'auth-url': 'cloud' }), /auth-url of the Secret cannot be used/);
  });
});

it('the address of Keystone is of version 3, however it was written', () => {
  for (const [given, url] of [
    ['http://cloud:5000', 'http://cloud:5000/v3'],
    ['http://cloud:5000/v2.0/', 'http://cloud:5000/v3'],
    ['https://cloud/identity/v3', 'https://cloud/identity/v3'],
    ['https://cloud/identity', 'https://cloud/identity/v3'],
  ] as const) {
    assert.equal(keystoneUrl(given), url);
  }
});
