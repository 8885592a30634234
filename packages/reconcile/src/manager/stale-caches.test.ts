// A manager whose watches go deaf while every request is answered: its Lease would be renewed for ever.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  defineKind,
  type FailureReason,
  Lease,
  Namespace,
  object,
  silentLogger,
  untilAborted,
  type WatchStream,
} from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import type { World } from '../worlds/index.ts';
import { createManager } from './manager.ts';
import { staleCaches } from './stale-caches.ts';

const Page = defineKind({ group: 'test.dev', version: 'v1', kind: 'Page', scope: 'Namespaced', spec: object({}) });
const pages = operator({
  name: 'pages',
  kinds: [Page],
  reconcilers: [
    reconciler({
      name: 'page',
      resource: Page,
      writes: [ConfigMap],
      reconcile: ({ object: { metadata } }) =>
        plan({ children: [apply(ConfigMap, { metadata: { name: `${metadata.name}`, namespace: 'default' } })] }),
    }),
  ],
});

describe('stale caches', () => {
  const worldOf = (ages: Record<string, number>, reasons: Record<string, FailureReason> = {}) =>
    ({
      staleness: () => new Map(Object.entries(ages)),
      watchProblems: { peek: (kind: string) => reasons[kind] && { reason: reasons[kind], message: '' } },
    }) as unknown as World;
  const limit = 120_000;

  const cases: [string, World, string | undefined][] = [
    ['are fresh up to the limit', worldOf({ 'Page.test.dev': limit }), undefined],
    ['are stale above it', worldOf({ 'Page.test.dev': limit + 1 }), 'the caches of Page.test.dev are stale'],
    ['of children count', worldOf({ ConfigMap: limit + 1 }), 'the caches of ConfigMap are stale'],
    ['of kinds that the operator does not use do not count', worldOf({ Secret: limit + 1 }), undefined],
    ['that were never filled do not count', worldOf({ 'Page.test.dev': Number.POSITIVE_INFINITY }), undefined],
    [
      'of a watch that is given up count',
      worldOf({ ConfigMap: 1e6 }, { ConfigMap: 'Silent' }),
      'the caches of ConfigMap are stale',
    ],
    [
      'of a kind that no instance may read do not count',
      worldOf({ ConfigMap: 1e6 }, { ConfigMap: 'Forbidden' }),
      undefined,
    ],
    [
      'of a kind that the server fails to list do not count',
      worldOf({ ConfigMap: 1e6 }, { ConfigMap: 'ServerError' }),
      undefined,
    ],
  ];
  for (const [name, world, expected] of cases)
    test(name, () => assert.equal(staleCaches(world, pages, limit), expected));

  test('are reported for all kinds together, in one order', () => {
    const world = worldOf({ 'Page.test.dev': 1e6, ConfigMap: 1e6, Secret: 1e6 });
    assert.equal(staleCaches(world, pages, limit), 'the caches of ConfigMap, Page.test.dev are stale');
  });
});

describe('a manager whose watches are deaf', () => {
  test('gives its Lease up after the limit, and takes it again when they are not', async (t) => {
    const clock = createVirtualClock();
    const cluster = await createTestCluster({ clock, random: createRandom(1), operators: [pages] });
    await cluster.client.create(Namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'capstan-system' },
    });
    const inner = cluster.transport();
    let isDeaf = false;
    const stop = new AbortController();
    const running = createManager({
      operators: [pages],
      connection: {
        ...inner,
        async watch(request) {
          const answer = await inner.watch(request);
          return Symbol.asyncIterator in answer ? deafenable(answer, request.signal, () => isDeaf) : answer;
        },
      },
      logger: silentLogger,
      clock,
      random: createRandom(2),
      env: {},
      leaderElection: { staleLimitMs: 90_000 },
    }).run(stop.signal);
    t.after(async () => {
      stop.abort();
      await clock.advance(60_000);
      await running;
      await cluster.close();
    });
    /** Milliseconds since the Lease was renewed. */
    const unrenewedMs = async () => {
      const lease = await cluster.client.get(Lease, { namespace: 'capstan-system', name: 'capstan-pages' });
      return clock.now() - Date.parse(lease.spec?.renewTime ?? '');
    };
    await clock.advance(600_000);
    assert.ok((await unrenewedMs()) <= 2_000, 'quiet watches are no reason to give up');
    isDeaf = true;
    await clock.advance(45_000);
    assert.ok((await unrenewedMs()) <= 2_000, 'the limit is not reached');
    await clock.advance(60_000);
    assert.ok((await unrenewedMs()) > 10_000, 'nothing is renewed any more');
    await cluster.client.create(Page, { ...page, metadata: { ...page.metadata, name: 'late' } });
    isDeaf = false;
    await clock.advance(90_000);
    assert.ok((await unrenewedMs()) <= 2_000, 'the watches are open again');
    assert.ok(await cluster.client.find(ConfigMap, { namespace: 'default', name: 'late' }));
  });

  test('refuses a limit that a quiet watch would reach', async () => {
    const manager = createManager({ operators: [pages], env: {}, leaderElection: { staleLimitMs: 59_999 } });
    await assert.rejects(async () => manager.run(AbortSignal.abort()), /59999 ms for stale caches .*use at least 60 s/);
  });
});

const page = { apiVersion: 'test.dev/v1', kind: 'Page', metadata: { name: 'page', namespace: 'default' }, spec: {} };

/** The watch, whose events and end are dropped from a moment on, until its client gives it up. */
async function* deafenable(stream: WatchStream, signal: AbortSignal | undefined, isDeaf: () => boolean): WatchStream {
  for await (const batch of stream) {
    if (isDeaf()) break;
    yield batch;
  }
  if (isDeaf() && signal !== undefined) await untilAborted(signal);
  signal?.throwIfAborted();
}
