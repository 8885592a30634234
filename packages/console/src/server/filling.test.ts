// The answers of the console while caches fill: a server that holds back the list of one kind.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ApiRequest,
  conditions,
  createClient,
  defineKind,
  type KindOf,
  object,
  Secret,
  silentLogger,
  string,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { alwaysLeader, conditionType, createRuntime, operator, plan, reconciler } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import type { OverviewAnswer, SessionAnswer } from '../api-types.ts';
import { createApi } from './api.ts';

const Page = defineKind({
  group: 'filling.capstan.dev',
  version: 'v1',
  kind: 'Page',
  scope: 'Namespaced',
  spec: object({ secret: string() }),
  status: object({ conditions: conditions() }),
});
type Page = KindOf<typeof Page>;
const ready = conditionType<'Done'>('Ready');
const pages = reconciler<Page>({
  name: 'page',
  resource: Page,
  reads: [Secret],
  reconcile({ object: { metadata, spec }, read }) {
    read.get(Secret, { namespace: metadata.namespace ?? '', name: spec.secret });
    return plan({ conditions: [ready.isTrue('Done')] });
  },
});
const operators = [operator({ name: 'pages', kinds: [Page], reconcilers: [pages] })];

/** A transport whose requests for Secrets wait for the gate. */
function heldSecrets(inner: Transport, gate: Promise<void>): Transport {
  const opened = async ({ path }: ApiRequest) => {
    if (path.endsWith('/secrets')) await gate;
  };
  return {
    ...inner,
    request: async (request) => opened(request).then(() => inner.request(request)),
    watch: async (request) => opened(request).then(() => inner.watch(request)),
    close: () => inner.close(),
  };
}

describe('a console whose caches fill', () => {
  it('shows the known objects with the kinds that still fill, and holds back causes that depend on them', async () => {
    const random = createRandom(5);
    const cluster = await createTestCluster({ clock: systemClock, random, operators });
    const metadata = { namespace: 'default', name: 'home' };
    const { apiVersion, kind } = Page;
    await cluster.client.create(Page, { apiVersion, kind, metadata, spec: { secret: 'token' } });
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const transport = heldSecrets(cluster.transport(), gate);
    const client = createClient({ transport, clock: systemClock, random, logger: silentLogger });
    const runtime = createRuntime({
      operators,
      clock: systemClock,
      random,
      logger: silentLogger,
      leadership: () => alwaysLeader,
    });
    runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
    runtime.addWorld({ name: '', client });
    const api = createApi(
      {
        runtime,
        operators,
        writes: false,
        session: { context: 'test', version: '0' },
        healthOf: () => ({ state: 'broken', reason: 'NotReady', message: 'not reported yet' }),
        fetch: async () => undefined,
      },
      systemClock,
    );
    const get = async <T>(path: string) =>
      (await api.answer(path, new URLSearchParams(), new AbortController().signal))?.body as T;
    const until = async (isSo: (overview: OverviewAnswer) => boolean) => {
      for (;;) {
        await runtime.settle();
        const overview = await get<OverviewAnswer>('/api/overview');
        if (isSo(overview)) return overview;
        await systemClock.yield();
      }
    };
    try {
      const early = await until(({ operators: [pagesOf] }) => pagesOf?.objects === 1);
      assert.deepEqual(early.filling, [{ world: '', kind: 'Secret', received: 0 }]);
      assert.deepEqual([early.rootCount, early.heldCount], [0, 1]);
      open();
      const late = await until(({ filling }) => filling.length === 0);
      assert.deepEqual([late.rootCount, late.heldCount], [1, 0]);
      const { kinds } = await get<SessionAnswer>('/api/session');
      assert.ok(kinds.every(({ access }) => access === 'served'));
      const { changes } = await get<{ changes: readonly unknown[] }>('/api/changes');
      assert.deepEqual(changes, [], 'a cache that fills changes nothing');
    } finally {
      open();
      api.close();
      await runtime.run(AbortSignal.abort());
      await client.close();
      await cluster.close();
    }
  });
});
