import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { blob, bytes, clientWith, content, ends, fails, user } from './client.test-support.ts';
import { digestOf } from './digest.ts';
import { RegistryError } from './errors.ts';
import { parseReference } from './reference.ts';

/** A server that answers with the given listener. */
async function server(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', () => resolve()));
  ends.push(async () => {
    http.closeAllConnections();
    http.close();
  });
  return `127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe('a registry that does not behave', () => {
  const reference = (address: string) => parseReference(`${address}/a:v1`);

  test('a registry that sends other bytes than asked for is found out: manifest, digest and size of a blob', async () => {
    const address = await server((request, response) => {
      if (request.url?.includes('/manifests/')) response.setHeader('docker-content-digest', digestOf('other'));
      response.end('{"schemaVersion":2}');
    });
    const client = clientWith();
    await assert.rejects(client.manifest(reference(address)), fails('wrong-digest', /other bytes than were asked for/));
    const byDigest = parseReference(`${address}/a@${digestOf('x')}`);
    await assert.rejects(client.manifest(byDigest), fails('wrong-digest'));
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 19 })),
      fails('wrong-digest', /wrong digest/),
    );
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 5 })),
      fails('wrong-digest', /more than 5 bytes/),
    );
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 50 })),
      fails('wrong-digest', /sent \d+ bytes, and its manifest has 50/),
    );
  });

  test('a registry that does not do HEAD, or states no digest there, is asked by GET', async () => {
    for (const status of [405, 404, 200]) {
      const address = await server((request, response) => {
        if (request.method === 'HEAD') response.writeHead(status);
        response.end(request.method === 'HEAD' ? undefined : 'manifest');
      });
      assert.deepEqual(await clientWith().resolve(reference(address)), { digest: digestOf('manifest') });
    }
  });

  test('a registry that sends its blobs elsewhere does not get our password sent there', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await server((request, response) => {
      seen.push(request.headers.authorization);
      response.end(content);
    });
    const address = await server((request, response) => {
      if (request.headers.authorization === undefined)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      else if (request.url?.startsWith('/here') === true) {
        seen.push(request.headers.authorization);
        response.writeHead(307, { location: `http://${elsewhere}/there` }).end();
      } else response.writeHead(307, { location: '/here' }).end();
    });
    assert.ok((await bytes(clientWith().blob(reference(address), blob, { keychain: user }))).equals(content));
    assert.match(seen[0] ?? '', /^Basic /);
    assert.deepEqual(seen.slice(1), [undefined]);
  });

  test('a registry that redirects without end, or to where nothing is, is left', async () => {
    const address = await server((_, response) => response.writeHead(302, { location: '/again' }).end());
    await assert.rejects(clientWith().manifest(reference(address)), fails('malformed', /redirects without end/));
    const odd = await server((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    await assert.rejects(clientWith().manifest(reference(odd)), fails('malformed', /no secure connection leads/));
  });

  test('a registry that asks for a pause is waited for when it is short, and reported when it is long', async () => {
    let calls = 0;
    let pause = '2';
    const address = await server((request, response) => {
      if (request.url === '/v2/') response.end();
      else if (++calls === 1)
        response.writeHead(429, { 'retry-after': pause }).end('{"errors":[{"code":"TOOMANYREQUESTS"}]}');
      else response.end('manifest');
    });
    const clock = createVirtualClock();
    const asked = clientWith({ retries: 2, clock }).manifest(reference(address));
    while (clock.pendingTimers === 0) await systemClock.yield();
    await clock.advance(1999);
    assert.equal(calls, 1);
    await clock.advance(201);
    await asked;
    assert.equal(calls, 2);
    calls = 0;
    pause = '600';
    await assert.rejects(clientWith({ retries: 2 }).manifest(reference(address)), (error: unknown) => {
      assert.ok(fails('too-many-requests', /come back in 600 s/)(error));
      assert.ok(error instanceof RegistryError && error.isTemporary && error.retryAfterMs === 600_000);
      return true;
    });
  });

  test('a registry that is down is asked again a few times and then given up', async () => {
    let calls = 0;
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      calls++;
      response.writeHead(503).end();
    });
    const clock = { ...systemClock, after: (_: number, call: () => void) => systemClock.after(0, call) };
    await assert.rejects(
      clientWith({ retries: 2, clock }).manifest(reference(address)),
      fails('unavailable', /answered 503/),
    );
    assert.equal(calls, 3);
    await assert.rejects(
      clientWith().manifest(parseReference('127.0.0.1:1/a:v1')),
      fails('unavailable', /ECONNREFUSED/),
    );
  });

  test('a silent registry is not waited for without end, and an abort is honoured', async () => {
    const address = await server((request, response) => {
      if (request.url === '/v2/') response.end();
    });
    await assert.rejects(
      clientWith({ idleTimeoutMs: 50 }).manifest(reference(address)),
      fails('timeout', /nothing came/),
    );
    const stopping = new AbortController();
    const asked = clientWith().manifest(reference(address), { signal: stopping.signal });
    stopping.abort(new Error('stop now'));
    await assert.rejects(asked, /stop now/);
  });

  test('a registry that does not answer is asked once, and reported at once: also in the middle of a blob', async () => {
    const asked: string[] = [];
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      asked.push(`${request.method} ${request.url?.split('/')[3]} ${request.headers.range ?? ''}`.trim());
      if (request.url?.includes('/blobs/') === true) response.writeHead(200, { 'content-length': 100 }).write('x');
    });
    const client = clientWith({ idleTimeoutMs: 50, retries: 3 });
    await assert.rejects(client.manifest(reference(address)), fails('timeout', /nothing came/));
    const descriptor = { digest: digestOf('y'), size: 100 };
    await assert.rejects(bytes(client.blob(reference(address), descriptor)), fails('timeout', /nothing came/));
    assert.deepEqual(asked, ['GET manifests', 'GET blobs', 'GET blobs bytes=1-']);
  });

  test('a registry that wants a log-in for one repository is asked for another one without, when there is none', async () => {
    const address: string = await server((request, response) => {
      if (request.url?.startsWith('/token') === true) return void response.writeHead(401).end();
      if (request.url?.startsWith('/v2/private/') === true)
        return void response
          .writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` })
          .end();
      response.end('manifest');
    });
    const client = clientWith();
    await assert.rejects(client.manifest(parseReference(`${address}/private/a:v1`)), fails('unauthorized'));
    assert.equal((await client.manifest(parseReference(`${address}/public/a:v1`))).body.toString(), 'manifest');
  });

  test('a registry whose connection breaks in the middle of a blob is resumed there, with ranges or without', async () => {
    const large = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    for (const doesRanges of [true, false]) {
      let calls = 0;
      const address = await server((request, response) => {
        if (request.url === '/v2/') return void response.end();
        const from = doesRanges ? Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
        response.writeHead(from > 0 ? 206 : 200, { 'content-length': large.length - from });
        if (++calls < 3) response.write(large.subarray(from, from + 100_000), () => response.destroy());
        else response.end(large.subarray(from));
      });
      const descriptor = { digest: digestOf(large), size: large.length };
      assert.ok((await bytes(clientWith().blob(reference(address), descriptor))).equals(large));
      assert.equal(calls, 3);
    }
  });

  test('a registry that sends manifests or token answers without end is left', async () => {
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      response.end(Buffer.alloc(5 * 1024 * 1024));
    });
    await assert.rejects(clientWith().manifest(reference(address)), fails('too-large'));
  });

  test('a registry that answers with a bad token, or none, is distinguished from a wrong password', async () => {
    for (const [answer, failure] of [
      [(response: Parameters<RequestListener>[1]) => response.end('{}'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.end('no json'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.end('{"token":"a\\nb"}'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.writeHead(401).end(), 'unauthorized'],
      [(response: Parameters<RequestListener>[1]) => response.writeHead(502).end(), 'unavailable'],
    ] as const) {
      const address: string = await server((request, response) => {
        if (request.url?.startsWith('/token') === true) return void answer(response);
        response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` }).end();
      });
      await assert.rejects(clientWith().manifest(reference(address), { keychain: user }), fails(failure));
    }
  });

  test('a registry with an identity token is asked by form, and the access token is used', async () => {
    let form = '';
    const address: string = await server((request, response) => {
      if (request.url?.startsWith('/token') === true) {
        request.on('data', (chunk: Buffer) => {
          form += chunk.toString();
        });
        request.on('end', () => response.end('{"access_token":"given","expires_in":60}'));
      } else if (request.headers.authorization === 'Bearer given') response.end('manifest');
      else response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` }).end();
    });
    await clientWith().manifest(reference(address), { keychain: () => ({ type: 'identity', token: 'mine' }) });
    const fields = new URLSearchParams(form);
    assert.deepEqual(
      [fields.get('grant_type'), fields.get('refresh_token'), fields.get('scope')],
      ['refresh_token', 'mine', 'repository:a:pull'],
    );
  });
});
