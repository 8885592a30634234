import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, createClient, silentLogger } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, severableTransport } from '@capstan/testing';
import { operator } from '../operator.ts';
import { derivation, type WatchProblem } from '../read/index.ts';
import { createRuntime } from '../runtime/index.ts';
import { sink } from '../sinks/index.ts';

test('the problem of a watch is read while it lasts, and the cache stays', async () => {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock, random });
  const ref = { namespace: 'default', name: 'a' };
  await cluster.client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { text: 'one' } });
  const seen: { text: string | undefined; problem: WatchProblem | undefined }[] = [];
  const state = sink<(typeof seen)[number]>({
    name: 'state',
    in: 'remote',
    reads: [ConfigMap],
    lease: 'none',
    keys: derivation<readonly string[]>({ name: 'one', compute: () => [''] }),
    of: derivation({
      name: 'state',
      compute: ({ read }) => ({
        text: read.get(ConfigMap, ref, ({ data }) => data?.['text']),
        problem: read.watchProblem(ConfigMap),
      }),
    }),
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) seen.push(after);
      },
    }),
  });
  const operators = [operator({ name: 'test', kinds: [], reconcilers: [], sinks: [state] })];
  const runtime = createRuntime({ operators, clock, random, logger: silentLogger });
  const link = severableTransport(cluster.transport());
  const client = createClient({ transport: link, clock, random, logger: silentLogger });
  runtime.addWorld({ name: 'remote', role: 'remote', client });
  const stopping = new AbortController();
  const ended = runtime.run(stopping.signal);
  await clock.advance(1000);
  assert.deepEqual(seen.splice(0), [{ text: 'one', problem: undefined }]);
  link.sever();
  await clock.advance(60_000);
  const away = seen.splice(0).at(-1);
  assert.equal(away?.text, 'one');
  assert.equal(away?.problem?.reason, 'Unreachable');
  link.restore();
  await clock.advance(120_000);
  assert.deepEqual(seen.at(-1), { text: 'one', problem: undefined });
  stopping.abort();
  await clock.advance(1000);
  await ended;
  await cluster.close();
});
