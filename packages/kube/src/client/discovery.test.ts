import assert from 'node:assert/strict';
import { test } from 'node:test';
import { externalKind, kindId } from '../kind.ts';
import { createClient } from './create-client.ts';
import { discover, servedAmong } from './discovery.ts';
import type { ApiResponse, Transport } from './transport.ts';

function clientOf(answers: Record<string, unknown>) {
  const asked: string[] = [];
  const transport: Transport = {
    address: 'https://cluster.example',
    async request({ path }): Promise<ApiResponse> {
      asked.push(path);
      const body = answers[path];
      return body === undefined
        ? { status: 404, headers: {}, body: { kind: 'Status', code: 404 } }
        : { status: typeof body === 'number' ? body : 200, headers: {}, body };
    },
    watch: async () => ({ status: 404, headers: {}, body: undefined }),
    async close() {},
  };
  return { client: createClient({ transport, retry: { attempts: 1 } }), asked };
}

const resource = (
  group: string,
  version: string,
  kind: string,
  plural: string,
  more: Record<string, unknown> = {},
) => ({
  resource: plural,
  responseKind: { group, version, kind },
  scope: 'Namespaced',
  singularResource: kind.toLowerCase(),
  verbs: ['get', 'list'],
  ...more,
});

const aggregated = {
  '/api': {
    kind: 'APIGroupDiscoveryList',
    items: [
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            freshness: 'Current',
            resources: [
              resource('', 'v1', 'Pod', 'pods', { shortNames: ['po'], categories: ['all'] }),
              resource('', 'v1', 'Secret', 'secrets'),
              resource('', 'v1', 'Node', 'nodes', { scope: 'Cluster', shortNames: ['no'] }),
              resource('', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
            ],
          },
        ],
      },
    ],
  },
  '/apis': {
    kind: 'APIGroupDiscoveryList',
    items: [
      {
        metadata: { name: 'apps' },
        versions: [
          {
            version: 'v1',
            resources: [
              resource('apps', 'v1', 'Deployment', 'deployments', {
                shortNames: ['deploy'],
                categories: ['all'],
                subresources: [{ subresource: 'scale' }, { subresource: 'status' }],
              }),
            ],
          },
          { version: 'v1beta1', resources: [resource('apps', 'v1beta1', 'Deployment', 'deployments')] },
        ],
      },
      {
        metadata: { name: 'events.k8s.io' },
        versions: [
          { version: 'v1', resources: [resource('events.k8s.io', 'v1', 'Event', 'events', { shortNames: ['pods'] })] },
        ],
      },
      { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale', resources: [] }] },
    ],
  },
};

test('aggregated discovery takes two requests and finds kinds by all names that kubectl accepts', async () => {
  const { client, asked } = clientOf(aggregated);
  const discovery = await discover(client);
  assert.deepEqual(asked.toSorted(), ['/api', '/apis']);
  const written: Record<string, string> = {
    Pod: 'v1 Pod',
    po: 'v1 Pod',
    'pods.v1': 'v1 Pod',
    PODS: 'v1 Pod',
    deploy: 'apps/v1 Deployment',
    'Deployment.apps': 'apps/v1 Deployment',
    'deployments.v1beta1.apps': 'apps/v1beta1 Deployment',
    'deploy.apps': 'apps/v1 Deployment',
    events: 'v1 Event',
    'event.events.k8s.io': 'events.k8s.io/v1 Event',
  };
  for (const [name, expected] of Object.entries(written)) {
    const kind = discovery.find(name);
    assert.equal(`${kind?.apiVersion} ${kind?.kind}`, expected, name);
  }
  assert.equal(discovery.find('widgets'), undefined);
  assert.deepEqual(discovery.unavailable, ['metrics.k8s.io/v1beta1']);
  assert.deepEqual(discovery.category('all').map(kindId), ['Pod', 'Deployment.apps']);
});

test('a discovered kind can be used like any other, and Secret is sensitive', async () => {
  const { client, asked } = clientOf(aggregated);
  const discovery = await discover(client);
  const deployment = discovery.kindOf('apps/v1', 'Deployment');
  assert.ok(deployment?.hasStatus);
  assert.deepEqual(deployment.subresources, ['scale', 'status']);
  assert.equal(await client.find(deployment, { namespace: 'n', name: 'a' }), undefined);
  assert.equal(asked.at(-1), '/apis/apps/v1/namespaces/n/deployments/a');
  assert.equal(discovery.find('no')?.scope, 'Cluster');
  assert.deepEqual([discovery.find('secret')?.sensitive, discovery.find('pod')?.sensitive], [true, false]);
});

test('a server without aggregation is asked group by group, and a group that is down hides no other', async () => {
  const { client } = clientOf({
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': {
      kind: 'APIGroupList',
      groups: [
        {
          name: 'apps',
          versions: [{ version: 'v1beta1' }, { version: 'v1' }],
          preferredVersion: { version: 'v1' },
        },
        { name: 'metrics.k8s.io', versions: [{ version: 'v1beta1' }], preferredVersion: { version: 'v1beta1' } },
      ],
    },
    '/api/v1': {
      kind: 'APIResourceList',
      resources: [
        { name: 'pods', singularName: '', kind: 'Pod', namespaced: true, verbs: ['get'], shortNames: ['po'] },
        { name: 'pods/log', kind: 'Pod', namespaced: true, verbs: ['get'] },
      ],
    },
    '/apis/apps/v1': { resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true, verbs: [] }] },
    '/apis/apps/v1beta1': { resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true, verbs: [] }] },
    '/apis/metrics.k8s.io/v1beta1': 503,
  });
  const discovery = await discover(client);
  assert.equal(discovery.find('deployments')?.apiVersion, 'apps/v1');
  assert.equal(discovery.kindOf('apps/v1beta1', 'Deployment')?.version, 'v1beta1');
  assert.deepEqual(discovery.find('po')?.subresources, ['log']);
  assert.equal(discovery.find('pod')?.plural, 'pods');
  assert.deepEqual(discovery.unavailable, ['metrics.k8s.io/v1beta1']);
});

const kindOf = (group: string, version: string, kind: string) =>
  externalKind({ group, version, kind, plural: `${kind.toLowerCase()}s`, scope: 'Namespaced' });

test('checking for kinds takes one request, and one more for each group that exists', async () => {
  const groups = [
    { name: 'routes.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
    { name: 'down.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
    { name: 'other.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
  ];
  const { client, asked } = clientOf({
    '/apis': { kind: 'APIGroupList', groups },
    '/apis/routes.io/v1': { kind: 'APIResourceList', resources: [{ name: 'roads', kind: 'Road', namespaced: true }] },
    '/apis/down.io/v1': 503,
  });
  const absent = [kindOf('nowhere.io', 'v1', 'Thing'), kindOf('routes.io', 'v2', 'Road')];
  const none = await servedAmong(client, absent);
  assert.deepEqual(absent.map(none), [false, false]);
  assert.deepEqual(asked.splice(0), ['/apis']);
  const some = [kindOf('routes.io', 'v1', 'Road'), kindOf('routes.io', 'v1', 'Path'), kindOf('down.io', 'v1', 'Thing')];
  const isThere = await servedAmong(client, some);
  assert.deepEqual(some.map(isThere), [true, false, true], 'a group that does not answer may have it');
  assert.deepEqual(asked, ['/apis', '/apis/routes.io/v1', '/apis/down.io/v1']);
});

test('a server that does not list its groups may have every kind', async () => {
  const { client } = clientOf({ '/apis': { kind: 'Hello' } });
  assert.equal((await servedAmong(client, []))(kindOf('nowhere.io', 'v1', 'Thing')), true);
});
