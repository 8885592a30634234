import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, describe, it } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createRegistry } from '../metrics/index.ts';
import { parseListenAddress } from './address.ts';
import { type Checks, runChecks } from './checks.ts';
import { type HealthServerOptions, serveHealth } from './server.ts';

const stop = new AbortController();
after(() => stop.abort());

async function start(options: Partial<HealthServerOptions>) {
  const { address } = await serveHealth({
    address: '127.0.0.1:0',
    clock: systemClock,
    signal: stop.signal,
    ...options,
  });
  return async (path: string, init?: RequestInit) => {
    const answer = await fetch(`http://${address}${path}`, init);
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      headers: answer.headers,
      body: await answer.text(),
    };
  };
}

const mixed: Checks = {
  caches: () => true,
  lease: async () => 'the lease has not been seen for 40 s',
  bug: () => {
    throw new Error('inner detail');
  },
};

describe('the health server', () => {
  it('answers ok while every check passes', async () => {
    const get = await start({ probes: { readiness: { caches: () => true } } });
    for (const path of ['/healthz', '/livez', '/readyz', '/readyz/caches', '/readyz/ping']) {
      const { status, body } = await get(path);
      assert.deepEqual([status, body], [200, 'ok'], path);
    }
  });

  it('says which checks fail and why, and keeps exceptions to the log', async () => {
    const logged: unknown[] = [];
    const logger = { ...silentLogger, warn: (_: string, fields?: object) => logged.push(fields) };
    const get = await start({ probes: { readiness: mixed }, logger });
    const { status, body } = await get('/readyz');
    assert.equal(status, 500);
    assert.deepEqual(body.trimEnd().split('\n'), [
      '[+]ping ok',
      '[+]caches ok',
      '[-]lease failed: the lease has not been seen for 40 s',
      '[-]bug failed: reason withheld, see the log',
      'readyz check failed',
    ]);
    assert.equal(logged.length, 1);
    assert.equal((await get('/livez')).status, 200, 'readiness is not liveness');
  });

  it('lists checks with verbose, leaves some out, and asks for one', async () => {
    const get = await start({ probes: { liveness: mixed } });
    const verbose = await get('/livez?verbose&exclude=bug&exclude=lease&exclude=other');
    assert.deepEqual(verbose.body.trimEnd().split('\n'), [
      '[+]ping ok',
      '[+]caches ok',
      '[+]bug excluded: ok',
      '[+]lease excluded: ok',
      'warn: there is no check other to exclude',
      'livez check passed',
    ]);
    assert.equal(verbose.status, 200);
    assert.equal((await get('/livez/caches')).body, 'ok');
    assert.equal((await get('/livez/lease')).status, 500);
    assert.equal((await get('/livez/none')).status, 404);
  });

  it('serves metrics in the format that is asked for', async () => {
    const registry = createRegistry();
    registry.counter({ name: 'x_total', help: 'X.' }).of().inc();
    const get = await start({ metrics: registry });
    const plain = await get('/metrics');
    assert.equal(plain.type, 'text/plain; version=0.0.4; charset=utf-8');
    assert.match(plain.body, /^x_total 1$/m);
    const open = await get('/metrics', { headers: { accept: 'application/openmetrics-text; version=1.0.0' } });
    assert.match(open.type ?? '', /^application\/openmetrics-text/);
    assert.match(open.body, /# EOF\n$/);
    assert.equal((await get('/readyz')).status, 404, 'what is not given is not served');
  });

  it('takes HEAD, refuses other methods and knows no other paths', async () => {
    const get = await start({ probes: {} });
    assert.deepEqual((await get('/livez', { method: 'HEAD' })).status, 200);
    const post = await get('/livez', { method: 'POST' });
    assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
    for (const path of ['/', '/livez/ping/more', '/other', '/metrics', '//x'])
      assert.equal((await get(path)).status, 404);
    assert.equal((await get('/livez/%zz')).status, 404);
  });

  it('counts a check that hangs as failed', async () => {
    const clock = createVirtualClock();
    const results = runChecks({ hung: () => new Promise<never>(() => {}) }, clock, silentLogger);
    await clock.advance(5_000);
    assert.equal((await results)[0]?.isOk, false);
  });

  it('stops with its signal, also while a request is under way', async () => {
    const own = new AbortController();
    const begun = Promise.withResolvers<void>();
    const clock = createVirtualClock();
    const server = await serveHealth({
      address: '127.0.0.1:0',
      clock,
      signal: own.signal,
      probes: {
        liveness: {
          slow() {
            begun.resolve();
            return new Promise<never>(() => {});
          },
        },
      },
    });
    const hung = new Promise<void>((resolve) => {
      request(`http://${server.address}/livez`)
        .on('error', () => resolve())
        .end();
    });
    await begun.promise;
    own.abort();
    await clock.advance(1_000);
    await server.closed;
    await hung;
  });

  it('says in one sentence why it cannot listen', async () => {
    const { address } = await serveHealth({ address: '127.0.0.1:0', clock: systemClock, signal: stop.signal });
    await assert.rejects(
      serveHealth({ address, clock: systemClock, signal: stop.signal }),
      /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*; choose another/,
    );
  });

  const addresses: [text: string, expected: ReturnType<typeof parseListenAddress> | undefined][] = [
    [':8080', { host: undefined, port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['[::1]:9443', { host: '::1', port: 9443 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
    ['8080', undefined],
    ['::1:80', undefined],
    ['host:99999', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of addresses) {
    it(`${expected ? 'takes' : 'refuses'} the address "${text}"`, () => {
      if (expected) assert.deepEqual(parseListenAddress(text), expected);
      else assert.throws(() => parseListenAddress(text), /not an address to listen on/);
    });
  }
});
