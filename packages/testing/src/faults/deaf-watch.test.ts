// An informer behind a proxy that goes deaf. The sockets are real. The time is virtual, except in the last test.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as realDelay } from 'node:timers/promises';
import { ADMIN, createApiServer, loadBuiltins, startHttpServer } from '@capstan/apiserver';
import {
  type Clock,
  ConfigMap,
  createCa,
  createClient,
  createHttpTransport,
  createInformer,
  fixedCredentials,
  issueCertificate,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { objectOf } from '../cluster.ts';
import { createRandom } from '../random.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { startDeafProxy } from './deaf-proxy.ts';

const PROTOCOLS = ['HTTP', 'TLS with HTTP/2 offered'] as const;
/** A bookmark is two seconds before the end of the shortest watch. */
const UNTIL_BOOKMARK_MS = 28_000;
const LIMIT_MS = 60_000;

for (const protocol of PROTOCOLS) {
  test(`a watch over ${protocol} that goes deaf before its first bookmark is noticed within a minute`, async (t) => {
    const clock = createVirtualClock();
    const { proxy, informer, create, hasNoticed, until } = await serve(t, clock, protocol);
    await until(() => informer.isSynced && informer.state().phase === 'watching');
    proxy.deafen();
    proxy.heal();
    await create('missed');
    const ms = await msUntil(clock, hasNoticed);
    assert.ok(ms < LIMIT_MS, `noticed after ${ms} ms`);
    await until(() => informer.get('default/missed') !== undefined);
  });

  test(`a watch over ${protocol} that goes deaf after a bookmark is noticed within a minute`, async (t) => {
    const clock = createVirtualClock();
    const { proxy, informer, create, hasNoticed, received, until } = await serve(t, clock, protocol);
    await until(() => informer.isSynced && informer.state().phase === 'watching');
    const before = received('BOOKMARK');
    await clock.advance(UNTIL_BOOKMARK_MS);
    await until(() => received('BOOKMARK') > before, { isStill: true });
    proxy.deafen();
    proxy.heal();
    await create('missed');
    const ms = await msUntil(clock, hasNoticed);
    assert.ok(ms < LIMIT_MS, `noticed after ${ms} ms`);
    await until(() => informer.get('default/missed') !== undefined);
  });
}

test('every connection that delivers only its beginning is noticed, and the copy counts as stale until one is whole', async (t) => {
  const clock = createVirtualClock();
  const { proxy, informer, create, hasNoticed, until } = await serve(t, clock, 'HTTP');
  await until(() => informer.isSynced && informer.state().phase === 'watching');
  // The head of the answer to a watch passes, and the client takes the watch for open.
  proxy.deafen({ only: isWatch, beginning: 150 });
  await create('missed');
  assert.ok((await msUntil(clock, hasNoticed)) < LIMIT_MS);
  for (let minute = 0; minute < 5; minute++) {
    await clock.advance(60_000);
    await realDelay(20);
  }
  assert.ok(informer.staleness() > 5 * 60_000, `stale for ${informer.staleness()} ms`);
  assert.equal(informer.get('default/missed'), undefined);
  proxy.heal();
  await until(() => informer.get('default/missed') !== undefined);
  assert.ok(informer.staleness() < LIMIT_MS);
});

test('a list that stops in the middle is noticed within a minute', async (t) => {
  const clock = createVirtualClock();
  const { proxy, informer, hasNoticed, until } = await serve(t, clock, 'HTTP', (deaf) =>
    deaf.deafen({ only: isWatch, beginning: 300 }),
  );
  await until(() => proxy.deaf > 0, { isStill: true });
  assert.ok((await msUntil(clock, hasNoticed)) < LIMIT_MS);
  proxy.heal();
  await until(() => informer.isSynced);
});

test('a deaf watch is noticed within a minute of real time', { timeout: 120_000 }, async (t) => {
  const { proxy, informer, create, hasNoticed, until } = await serve(t, systemClock, 'HTTP');
  await until(() => informer.isSynced && informer.state().phase === 'watching');
  proxy.deafen();
  proxy.heal();
  await create('missed');
  const deafSince = performance.now();
  while (!hasNoticed() && performance.now() - deafSince < LIMIT_MS) await realDelay(100);
  const ms = Math.round(performance.now() - deafSince);
  assert.ok(hasNoticed(), `not noticed after ${ms} ms`);
  await until(() => informer.get('default/missed') !== undefined);
  t.diagnostic(`noticed after ${ms} ms, healed after ${Math.round(performance.now() - deafSince)} ms`);
});

const isWatch = (opening: string) => /[?&]watch=/.test(opening);

async function serve(
  t: TestContext,
  clock: Clock,
  protocol: (typeof PROTOCOLS)[number],
  prepare: (proxy: Awaited<ReturnType<typeof startDeafProxy>>) => void = () => {},
) {
  const server = createApiServer({
    clock,
    random: createRandom(1),
    builtins: loadBuiltins(),
    staticTokens: [{ token: 'test', user: ADMIN }],
  });
  const admin = createClient({ transport: server.transport(), clock });
  const span = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCa({ commonName: 'deaf', ...span });
  const issued = await issueCertificate({
    ca,
    commonName: 'server',
    usages: ['server'],
    ipAddresses: ['127.0.0.1'],
    ...span,
  });
  const tls = { certificate: issued.certificate, key: issued.key, ca: ca.certificate };
  const http = await startHttpServer({
    clusters: [{ name: 'one', server }],
    clock: systemClock,
    port: 0,
    ...(protocol === 'HTTP' ? {} : { tls }),
  });
  const proxy = await startDeafProxy(http.port);
  prepare(proxy);
  const transport = createHttpTransport({
    server: `${protocol === 'HTTP' ? 'http' : 'https'}://127.0.0.1:${proxy.port}`,
    credentials: fixedCredentials({ headers: { authorization: 'Bearer test' }, tls: { ca: ca.certificate } }),
    clock,
  });
  const counts: Record<string, number> = {};
  const restarts: string[] = [];
  const informer = createInformer({
    client: createClient({ transport, clock }),
    kind: ConfigMap,
    clock,
    random: () => 0,
    logger: silentLogger,
    observe: {
      watchRestarted: (cause) => restarts.push(cause),
      received(batch) {
        for (const [type, count] of Object.entries(batch.counts)) counts[type] = (counts[type] ?? 0) + count;
      },
    },
  });
  const stop = new AbortController();
  const done = informer.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await done;
    await transport.close();
    await proxy.close();
    await http.close();
    await server.close();
  });
  const create = (name: string) =>
    admin.create(ConfigMap, objectOf<ConfigMap>(ConfigMap, { metadata: { namespace: 'default', name } }));
  /** Lets sockets work, and time pass unless it stands still, until a condition holds. */
  const until = async (condition: () => boolean, { isStill = false } = {}) => {
    for (let turn = 0; turn < 2_000 && !condition(); turn++) {
      if (!isStill && 'advance' in clock) await (clock as VirtualClock).advance(50);
      await realDelay(5);
    }
    assert.ok(condition(), `${String(condition)}: ${restarts.join()}`);
  };
  return {
    proxy,
    informer,
    create,
    until,
    hasNoticed: () => restarts.includes('Silent'),
    received: (type: string) => counts[type] ?? 0,
  };
}

/** The virtual time until a condition holds, with a moment for the sockets in each second. */
async function msUntil(clock: VirtualClock, condition: () => boolean): Promise<number> {
  const begin = clock.now();
  while (!condition() && clock.now() - begin < 10 * LIMIT_MS) {
    await clock.advance(1_000);
    await realDelay(2);
  }
  return clock.now() - begin;
}
