import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { StatusError } from '../errors.ts';
import { testServer } from '../server.test-support.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };

interface TokenAnswer extends UnknownObject {
  spec: { audiences: string[]; expirationSeconds: number };
  status: { token: string; expirationTimestamp: string };
}

async function tokenServer() {
  const test = testServer({ serviceAccountKey: privateKey, authorization: 'RBAC' });
  await test.ok('POST', ACCOUNTS, account);
  const request = async (spec: object = {}) =>
    (await test.ok('POST', `${ACCOUNTS}/robot/token`, { spec })) as TokenAnswer;
  const who = (bearerToken: string) => test.server.authenticator.authenticate({ bearerToken });
  return { ...test, request, who };
}

describe('a token of a service account', () => {
  it('says who it is until it expires', async () => {
    const { request, who, clock } = await tokenServer();
    const { status, spec } = await request({ expirationSeconds: 600 });
    assert.equal(spec.expirationSeconds, 600);
    const user = who(status.token);
    assert.equal(user?.name, 'system:serviceaccount:default:robot');
    assert.deepEqual(user?.groups, [
      'system:serviceaccounts',
      'system:serviceaccounts:default',
      'system:authenticated',
    ]);
    await clock.advance(599_000);
    assert.ok(who(status.token));
    await clock.advance(2_000);
    assert.equal(who(status.token), undefined);
  });

  it('ends with its account, even when one of the same name comes after it', async () => {
    const test = await tokenServer();
    const { status } = await test.request();
    await test.ok('DELETE', `${ACCOUNTS}/robot`);
    assert.equal(test.who(status.token), undefined);
    await test.ok('POST', ACCOUNTS, account);
    assert.equal(test.who(status.token), undefined);
  });

  it('ends with the object that it is bound to', async () => {
    const test = await tokenServer();
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
    await test.ok('POST', '/api/v1/namespaces/default/secrets', secret);
    const ref = { apiVersion: 'v1', kind: 'Secret', name: 's' };
    const { status } = await test.request({ boundObjectRef: ref });
    assert.ok(test.who(status.token));
    await test.ok('DELETE', '/api/v1/namespaces/default/secrets/s');
    assert.equal(test.who(status.token), undefined);
    assert.equal((await test.refused('POST', `${ACCOUNTS}/robot/token`, { spec: { boundObjectRef: ref } })).code, 404);
  });

  it('is good for its audiences only, and TokenReview says for which', async () => {
    const test = await tokenServer();
    const { status } = await test.request({ audiences: ['vault'] });
    assert.equal(test.who(status.token), undefined);
    const review = (spec: object) =>
      test.ok('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { kind: 'TokenReview', spec });
    const good = await review({ token: status.token, audiences: ['vault', 'other'] });
    const { authenticated, user, audiences } = good['status'] as {
      authenticated: boolean;
      user: { username: string };
      audiences: string[];
    };
    assert.deepEqual(
      [authenticated, user.username, audiences],
      [true, 'system:serviceaccount:default:robot', ['vault']],
    );
    assert.deepEqual((await review({ token: status.token }))['status'], { user: {}, error: 'invalid bearer token' });
  });

  it('is refused when it was signed by another client, changed, or not signed at all', async () => {
    const test = await tokenServer();
    const { status } = await test.request();
    const [header = '', payload = '', signature = ''] = status.token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    const forged = Buffer.from(JSON.stringify({ ...claims, exp: 9e9 })).toString('base64url');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const other = testServer({ serviceAccountKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey });
    for (const token of [
      `${header}.${forged}.${signature}`,
      `${none}.${payload}.`,
      'a.b.c',
      '',
      'x',
      `${status.token}.x`,
    ]) {
      assert.equal(test.who(token), undefined, token);
    }
    assert.equal(other.server.authenticator.authenticate({ bearerToken: status.token }), undefined);
  });

  it('lives ten minutes at least', async () => {
    const test = await tokenServer();
    const status = await test.refused('POST', `${ACCOUNTS}/robot/token`, { spec: { expirationSeconds: 60 } });
    assert.match(status.message ?? '', /Invalid value: 60: may not specify a duration less than 10 minutes/);
  });
});

describe('who a user is', () => {
  it('comes from a certificate, a fixed token or nothing', () => {
    const user = { name: 'admin', groups: ['system:masters'] };
    const { server } = testServer({ staticTokens: [{ token: 'sesame', user }] });
    const { authenticator } = server;
    assert.deepEqual(authenticator.authenticate({ bearerToken: 'sesame' }), user);
    assert.equal(authenticator.authenticate({ bearerToken: 'sesam' }), undefined);
    assert.equal(authenticator.authenticate({}), undefined);
    const certificate = { commonName: 'jane', organizations: ['a'], sha256: '0f' };
    assert.deepEqual(authenticator.authenticate({ certificate }), {
      name: 'jane',
      groups: ['a', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=0f'] },
    });
  });

  it('is returned by SelfSubjectReview', async () => {
    const { server } = testServer();
    const transport = server.transport({ user: { name: 'jane', groups: ['a'] } });
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { body } = await transport.request({ method: 'POST', path, body: { kind: 'SelfSubjectReview' } });
    assert.deepEqual((body as UnknownObject)['status'], { userInfo: { username: 'jane', groups: ['a'] } });
  });

  it('may not be a group without a user', () => {
    const { server } = testServer();
    const admin = { name: 'admin', groups: ['system:masters'] };
    assert.throws(() => server.impersonate(admin, { groups: ['a'] }), /without impersonating a user name/);
    assert.throws(
      () => server.impersonate(admin, { groups: ['a'] }),
      (error) => error instanceof StatusError && error.status.code === 400,
    );
  });

  it('may be another client for who may impersonate him', () => {
    const { server } = testServer({ authorization: 'RBAC' });
    const admin = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
    assert.deepEqual(server.impersonate(admin, {}), admin);
    assert.deepEqual(server.impersonate(admin, { user: 'jane', groups: ['g'] }), {
      name: 'jane',
      groups: ['g', 'system:authenticated'],
    });
    assert.deepEqual(server.impersonate(admin, { user: 'system:serviceaccount:a:b' }).groups, [
      'system:serviceaccounts',
      'system:serviceaccounts:a',
      'system:authenticated',
    ]);
    const jane = { name: 'jane', groups: ['system:authenticated'] };
    assert.throws(
      () => server.impersonate(jane, { user: 'admin' }),
      (error) =>
        error instanceof StatusError &&
        error.message ===
          'users "admin" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
    assert.throws(() => server.impersonate(admin, { groups: ['g'] }), /without impersonating a user/);
  });
});
