import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, defineKind, Namespace, object, silentLogger, systemClock, type Transport } from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { createManager, type ManagerOptions } from './manager.ts';

const Page = defineKind({ group: 'test.dev', version: 'v1', kind: 'Page', scope: 'Namespaced', spec: object({}) });
const pages = (name: string) =>
  operator({
    name,
    kinds: [Page],
    reconcilers: [
      reconciler({
        name: 'page',
        resource: Page,
        writes: [ConfigMap],
        reconcile: ({ object: { metadata } }) =>
          plan({
            children: [
              apply(ConfigMap, { metadata: { name: `${metadata.name}`, namespace: `${metadata.namespace}` } }),
            ],
          }),
      }),
    ],
  });
const capstanSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } } as const;

describe('a manager', () => {
  const manage = (options: Partial<ManagerOptions>) =>
    createManager({ operators: [pages('pages')], logger: silentLogger, env: {}, ...options });

  test('refuses two operators of one name, whose Lease and fields would be the same', async () => {
    await assert.rejects(
      async () => manage({ operators: [pages('a'), pages('a')] }).run(AbortSignal.abort()),
      /two operators are named "a"; give one of them another name/,
    );
  });

  test('does not start where it may not use its Lease, and says what to grant', async (t) => {
    const cluster = await createTestCluster({
      clock: systemClock,
      random: createRandom(1),
      operators: [pages('pages')],
    });
    t.after(() => cluster.close());
    await cluster.client.create(Namespace, capstanSystem);
    const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no rule allows it' };
    const connection: Transport = cluster.transport();
    const refusing: Transport = {
      ...connection,
      request: (request) =>
        request.path.includes('/leases')
          ? Promise.resolve({ status: 403, headers: { 'content-type': 'application/json' }, body })
          : connection.request(request),
    };
    await assert.rejects(
      manage({ connection: refusing }).run(new AbortController().signal),
      /the Lease capstan-system\/capstan-pages cannot be used: .*no rule allows it.*; grant the permissions .*capstan rbac/,
    );
  });

  test('gives each operator a Lease of its own under a name that is given for all', async (t) => {
    const both = [pages('a'), pages('b')];
    const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [pages('a')] });
    t.after(() => cluster.close());
    await cluster.client.create(Namespace, capstanSystem);
    const asked = new Set<string>();
    const connection: Transport = cluster.transport();
    const stopping = new AbortController();
    const manager = manage({
      operators: both,
      leaderElection: { name: 'mine' },
      onEvent: ({ type }) => void (type === 'ready' && stopping.abort()),
      connection: {
        ...connection,
        request(request) {
          if (request.method === 'GET' && request.path.includes('/leases/'))
            asked.add(request.path.split('/').at(-1) ?? '');
          return connection.request(request);
        },
      },
    });
    await manager.run(stopping.signal);
    assert.deepEqual([...asked].toSorted(), ['mine-a', 'mine-b']);
  });
});
