// The page of cables: the driver of every pair, the policy that decided it, and the pairs that a change of a policy would change.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Namespace, systemClock } from '@capstan/kube';
import { askReport, askReportAfter, withReports } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import { Broker, CablePolicies, Cluster, Endpoint } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';
import type { CablesReport } from '../../src/reports/cables-report.ts';

const NAMESPACE = 'submariner-k8s-broker';
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const policy = (name: string, spec: unknown): CablePolicies => ({
  apiVersion: CablePolicies.apiVersion,
  kind: 'CablePolicies',
  metadata: ref(name),
  spec,
});
const toPremises = (driver: string) =>
  policy('premises', [
    {
      leftClusterSelector: { location: 'on-premise' },
      rightClusterSelector: { location: 'cloud' },
      cableDriver: { name: driver },
    },
  ]);
const endpoint = (id: string, ...drivers: string[]): Endpoint => ({
  apiVersion: Endpoint.apiVersion,
  kind: 'Endpoint',
  metadata: ref(`${id}-cable`),
  spec: {
    cluster_id: id,
    cable_name: `submariner-cable-${id}`,
    hostname: id,
    subnets: [],
    private_ip: '192.0.2.1',
    public_ip: '',
    nat_enabled: false,
    backend: drivers[0] ?? '',
    backends: drivers.map((name) => ({ cable_driver: { name } })),
  },
});
const shown = ({ pairs }: CablesReport) =>
  pairs.map(({ left, right, driver, policy: by }) => [left, right, driver, by]);

describe('the page of cables', () => {
  test('has each pair once with the driver that policies choose, and what an edit of a policy would change', async () => {
    const stage = await createStage({
      ruled: '0034: a member that was not heard of',
      operators: [withReports(createSubmariner())],
      given: async (client) => {
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
        await client.create(Broker, {
          apiVersion: Broker.apiVersion,
          kind: 'Broker',
          metadata: ref('submariner-broker'),
          spec: { defaultCableDriver: 'vxlan' } as Broker['spec'],
        });
        for (const [id, location] of [
          ['c1', 'cloud'],
          ['c2', 'on-premise'],
          ['c3', 'cloud'],
        ] as const)
          await client.create(Cluster, {
            apiVersion: Cluster.apiVersion,
            kind: 'Cluster',
            metadata: { ...ref(id), labels: { location } },
            spec: { cluster_id: id, service_cidr: [], cluster_cidr: [], global_cidr: [] },
          });
        await client.create(Endpoint, endpoint('c1', 'vxlan', 'libreswan'));
        await client.create(Endpoint, endpoint('c2', 'libreswan', 'vxlan'));
        await client.create(CablePolicies, toPremises('libreswan'));
      },
    });
    try {
      await stage.settle();
      const { runtime } = stage.program;
      const body = await askReport(runtime, 'submariner', 'cables', '');
      assert.equal(body.state, 'value', JSON.stringify(body));
      const report = body.value as CablesReport;
      const chosen = report.policies.find(({ name }) => name === 'premises')?.rules[0]?.driver ?? '';
      assert.deepEqual(shown(report), [
        ['c1', 'c2', chosen, 'premises'],
        ['c1', 'c3', 'vxlan', 'default'],
        ['c2', 'c3', chosen, 'premises'],
      ]);
      assert.equal(report.groupBy, 'location');
      assert.deepEqual(
        report.policies.map(({ name, isAccepted, pairs }) => [name, isAccepted, pairs]),
        [
          ['default', true, 1],
          ['premises', true, 2],
        ],
      );
      assert.ok(
        report.pairs.every(({ state }) => state === 'unknown'),
        'no end is read in a cluster of a broker',
      );
      const changes = [{ kind: CablePolicies, object: toPremises('vxlan') }];
      const asked = { operator: 'submariner', name: 'cables', key: '' };
      const { signal } = new AbortController();
      const after = await askReportAfter(runtime, asked, changes, { clock: systemClock, signal });
      assert.equal(after.state, 'value');
      assert.deepEqual(
        shown(after.value as CablesReport).map(([, , driver]) => driver),
        ['vxlan', 'vxlan', 'vxlan'],
      );
      const now = await askReport(runtime, 'submariner', 'cables', '');
      assert.deepEqual(now, body);
    } finally {
      await stage.end();
    }
  });
});
