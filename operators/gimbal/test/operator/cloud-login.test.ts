// Logins to a cloud over HTTP: the cloud of the discoverers' tests, behind a port.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { LoginError } from '../../src/credentials/verifier.ts';
import { createVerify } from '../../src/credentials/verify.ts';
import { createFakeCloud } from '../discover/fake-cloud.ts';

test('a login to a cloud is a new token, a catalog and a list; a wrong password is refused and never shown', async (t) => {
  const cloud = createFakeCloud(systemClock);
  let origin = '';
  const server = createServer((request, response) => {
    const answer = async () => {
      const url = new URL(request.url ?? '', 'http://cloud');
      const body = await text(request);
      // Addresses of its catalog lead back here.
      const at = url.pathname.startsWith('/v3') ? '/v3' : '/v2/lbaas';
      const {
        status,
        headers,
        body: detail,
      } = await cloud.open(`http://cloud${at}`).request({
        method: request.method as 'GET',
        path: url.pathname.slice(at.length),
        query: Object.fromEntries(url.searchParams),
        headers: request.headers as Record<string, string>,
        ...(body !== '' && { body: JSON.parse(body) as unknown }),
      });
      const content = JSON.stringify(detail).replaceAll(/https?:\/\/[^/"]+(?=[/"])/g, origin);
      response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(content);
    };
    answer().catch((error: unknown) => void response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const login = (password: string, keys: Record<string, string> = {}) => {
    const all = { 'auth-url': `${origin}/v3`, username: 'gimbal', password, 'tenant-name': 'admin', ...keys };
    const data = Object.fromEntries(
      Object.entries(all).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    return createVerify({ timeoutMs: 2000 })(
      { type: 'openstack', data, endpoint: undefined },
      new AbortController().signal,
    );
  };
  const good = await login(cloud.settings.password);
  assert.equal(good.isGood, true);
  assert.equal(cloud.logins, 1);
  await login(cloud.settings.password);
  assert.equal(cloud.logins, 2, 'each is a login of its own');
  await assert.rejects(login('s3cr3t-wrong'), (error) => {
    assert.ok(error instanceof LoginError);
    assert.equal(error.failure, 'AuthFailed');
    assert.doesNotMatch(error.message, /s3cr3t/);
    return true;
  });
  assert.equal((await login('x', { 'auth-url': 'nowhere' })).isGood, false);
  await assert.rejects(login('x', { 'auth-url': 'http://127.0.0.1:1' }), (error) => {
    assert.ok(error instanceof LoginError && error.failure === 'Unreachable', String(error));
    return true;
  });
});
