import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  CustomResourceDefinition,
  defineKind,
  type Logger,
  Namespace,
  object,
  silentLogger,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { createManager, type ManagerOptions } from './manager.ts';

const Page = defineKind({ group: 'test.dev', version: 'v1', kind: 'Page', scope: 'Namespaced', spec: object({}) });
const pages = (name: string, prefix = '') =>
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
              apply(ConfigMap, { metadata: { name: `${prefix}${metadata.name}`, namespace: `${metadata.namespace}` } }),
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

  test('waits in a pod for definitions that come later, and is alive and not ready meanwhile', async (t) => {
    const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    t.after(() => cluster.close());
    await cluster.client.create(Namespace, capstanSystem);
    const stopping = new AbortController();
    const events: string[] = [];
    let installing: Promise<unknown> | undefined;
    const connection: Transport = cluster.transport();
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1' };
    const manager = manage({
      env,
      connection,
      healthAddress: '127.0.0.1:0',
      onEvent(event) {
        events.push(event.type);
        if (event.type === 'ready') stopping.abort();
        if (event.type !== 'started') return;
        installing = (async () => {
          assert.equal((await fetch(`http://${event.health}/healthz`)).status, 200);
          assert.equal((await fetch(`http://${event.health}/readyz`)).status, 500);
          await cluster.client.create(CustomResourceDefinition, Page.crd());
        })();
      },
    });
    await manager.run(stopping.signal);
    await installing;
    assert.deepEqual(events, ['started', 'ready', 'stopped']);
  });

  test('logs once what its operators warn of at start', async () => {
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => lines.push(message), with: () => logger };
    const warned = { ...pages('pages'), warnings: ['--old has no effect; remove it'] };
    const refusing: Transport = { ...({} as Transport), request: () => Promise.reject(new Error('no server')) };
    await assert.rejects(
      manage({ operators: [warned], logger, connection: refusing }).run(new AbortController().signal),
    );
    assert.deepEqual(lines, ['--old has no effect; remove it']);
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

  test('fills one cache for all operators, and each writes under its own account', async (t) => {
    const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [pages('a')] });
    t.after(() => cluster.close());
    await cluster.client.create(Namespace, capstanSystem);
    const page = {
      apiVersion: 'test.dev/v1',
      kind: 'Page',
      metadata: { name: 'first', namespace: 'default' },
      spec: {},
    };
    await cluster.client.create(Page, page);
    const asked: { as: string; verb: string; path: string }[] = [];
    const written = new Set<string>();
    const stopping = new AbortController();
    const connect = (as: string): Transport => {
      const connection = cluster.transport();
      return {
        ...connection,
        request(request) {
          asked.push({ as, verb: request.method, path: request.path });
          if (/\/configmaps/.test(request.path) && request.method === 'PATCH') written.add(as);
          if (written.size === 2) stopping.abort();
          return connection.request(request);
        },
        watch(request) {
          asked.push({ as, verb: request.method, path: request.path });
          return connection.watch(request);
        },
      };
    };
    const manager = manage({
      operators: [pages('a'), pages('b', 'other-')],
      connection: connect('reader'),
      connectionFor: ({ name }) => connect(name),
    });
    await manager.run(AbortSignal.any([stopping.signal, AbortSignal.timeout(20_000)]));
    assert.deepEqual([...written].toSorted(), ['a', 'b']);
    const of = (who: string) => asked.filter(({ as }) => as === who);
    assert.deepEqual(
      of('reader').filter(({ verb }) => verb !== 'GET'),
      [],
    );
    assert.equal(of('reader').filter(({ path }) => path === '/apis/test.dev/v1/pages').length, 1);
    assert.deepEqual(
      [...of('a'), ...of('b')].filter(({ verb, path }) => verb === 'GET' && path.endsWith('/pages')),
      [],
    );
  });
});
