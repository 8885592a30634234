// The page of Kafka proxies: the hash tree, its values before and after a change, and Secrets only as keyed digests.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret, systemClock } from '@capstan/kube';
import { askReport, askReportAfter, type Runtime, withReports } from '@capstan/reconcile';
import { createKroxylicious, KafkaProxyIngress, KafkaService, VirtualKafkaCluster } from '../src/index.ts';
import type { KafkaReport } from '../src/reports/kafka-report.ts';
import { checksum, cluster, filter, get, minimal, object, opaque, patch, staged } from './fixtures.ts';

const operator = withReports(createKroxylicious());
const CONTENT = 'a-token-that-no-page-may-hold';
const encrypted = () => [
  ...minimal(),
  opaque('vault', { token: CONTENT, unused: 'x' }),
  filter({ password: '${secret:vault:token}' }),
  cluster('orders', { filterRefs: [{ name: 'encryption' }] }),
];

async function reportOf(runtime: Runtime): Promise<KafkaReport> {
  const body = await askReport(runtime, 'kroxylicious', 'kafka', 'default/my-proxy');
  assert.equal(body.state, 'value');
  return body.value as KafkaReport;
}

const hashesOf = ({ nodes }: KafkaReport) => new Map(nodes.map(({ id, hash }) => [id, hash]));

describe('the page of a Kafka proxy', () => {
  test('draws the tree from Secrets to the proxy, with the hash that the pods have', () =>
    staged({ objects: encrypted(), operator }, async ({ client, program }) => {
      const { runtime } = program;
      const found = await reportOf(runtime);
      assert.deepEqual(
        found.nodes.map(({ column, id }) => `${column} ${id.replace('.kroxylicious.io', '')}`).toSorted(),
        [
          '0 Secret default/vault',
          '1 KafkaProtocolFilter default/encryption',
          '1 KafkaProxyIngress default/tcp',
          '1 KafkaService default/upstream',
          ...found.clusters.map(({ name }) => `2 VirtualKafkaCluster default/${name}`),
          '3 KafkaProxy default/my-proxy',
        ].toSorted(),
      );
      assert.ok(found.nodes.every(({ hash }) => /^[0-9a-f]{12}(?:\.[0-9a-f]{8})?$/.test(hash)));
      assert.equal(found.hash, found.runningHash);
      const running = checksum(await get.deployment(client)) ?? '';
      assert.ok(running.includes(found.hash.split('.')[0] ?? ''), running);
      const secret = found.edges.find(({ from }) => from === 'Secret default/vault');
      assert.equal(secret?.to, 'KafkaProtocolFilter.kroxylicious.io default/encryption');
      assert.equal(JSON.stringify(found).includes(CONTENT), false);
      const list = await askReport(runtime, 'kroxylicious', 'kafka', '');
      const proxies = [{ key: 'default/my-proxy', hash: found.hash, clusters: found.clusters.length }];
      assert.deepEqual(list, { state: 'value', value: { proxies } });
      assert.deepEqual(await askReport(runtime, 'kroxylicious', 'kafka', 'default/none'), { state: 'none' });
    }));

  test('a changed key changes the hashes on its way alone, and an absent Secret is named', () =>
    staged({ objects: encrypted(), operator }, async ({ client, program, settle }) => {
      const before = hashesOf(await reportOf(program.runtime));
      await patch(client, Secret, 'vault', { stringData: { unused: 'y' } });
      await settle();
      assert.deepEqual(hashesOf(await reportOf(program.runtime)), before);
      await patch(client, Secret, 'vault', { stringData: { token: 'another' } });
      await settle();
      const changedReport = await reportOf(program.runtime);
      const after = hashesOf(changedReport);
      const served = changedReport.clusters.find(({ name }) => name === 'orders')?.bootstrap;
      const changed = [...after].filter(([id, hash]) => before.get(id) !== hash).map(([id]) => id.split(' ')[1] ?? '');
      assert.deepEqual(changed.toSorted(), [
        'default/encryption',
        'default/my-proxy',
        'default/orders',
        'default/vault',
      ]);
      await client.delete(Secret, { namespace: 'default', name: 'vault' });
      await settle();
      const broken = await reportOf(program.runtime);
      const node = broken.nodes.find(({ id }) => id === 'Secret default/vault');
      assert.deepEqual([node?.hash, node?.problems], ['', ['Secret default/vault does not exist']]);
      // Its last good configuration stays in force, at the same address.
      const orders = broken.clusters.find(({ name }) => name === 'orders');
      assert.equal(orders?.isServed, true);
      assert.equal(orders?.lastGood, after.get('VirtualKafkaCluster.kroxylicious.io default/orders'));
      assert.deepEqual(orders?.bootstrap, served);
      assert.ok(orders.problems.length > 0);
      await client.delete(VirtualKafkaCluster, { namespace: 'default', name: 'orders' });
      await client.create(VirtualKafkaCluster, cluster('late', { filterRefs: [{ name: 'encryption' }] }));
      await settle();
      const late = (await reportOf(program.runtime)).clusters.find(({ name }) => name === 'late');
      assert.deepEqual([late?.isServed, late?.lastGood, late?.bootstrap], [false, undefined, []]);
    }));

  test('shows what a change would do to the hashes, and annotations of Services change none', () =>
    staged({ objects: encrypted(), operator }, async ({ program }) => {
      const { runtime } = program;
      const asked = { operator: 'kroxylicious', name: 'kafka', key: 'default/my-proxy' };
      const signal = new AbortController().signal;
      const before = await reportOf(runtime);
      const hashAfter = async (kind: typeof KafkaService | typeof KafkaProxyIngress, name: string, spec: object) => {
        const changes = [{ kind, object: object(kind, name, { spec }) }];
        const body = await askReportAfter(runtime, asked, changes, { clock: systemClock, signal });
        assert.equal(body.state, 'value');
        return (body.value as KafkaReport).hash;
      };
      assert.notEqual(await hashAfter(KafkaService, 'upstream', { bootstrapServers: 'other:9092' }), before.hash);
      const annotated = {
        proxyRef: { name: 'my-proxy' },
        clusterIP: { protocol: 'TCP' },
        infrastructure: { annotations: { a: 'b' } },
      };
      assert.equal(await hashAfter(KafkaProxyIngress, 'tcp', annotated), before.hash);
      const rolls = (id: string, field: string) =>
        before.questions.find((one) => one.id.includes(id) && one.field === field)?.rolls;
      assert.deepEqual(
        [rolls('.io default/tcp', 'spec.infrastructure.annotations'), rolls('Secret default/vault', 'data.token')],
        [false, true],
      );
      assert.equal((await reportOf(runtime)).hash, before.hash);
    }));

  test('is no part of the operator that runs: it reads nothing for it', () => {
    assert.deepEqual(createKroxylicious().sinks ?? [], []);
    assert.equal(withReports(createKroxylicious()).sinks?.length, 1);
  });
});
