import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject, Pod, ReplicaSet, systemClock } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type CauseRecord,
  formatCause,
  OWNER_ANNOTATION,
  ROLLED_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '@capstan/reconcile';
import { createRandom, createTestCluster, type TestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';

const cause: CauseRecord = {
  at: '2026-01-01T00:00:00Z',
  by: 'kroxylicious.kafka-proxy',
  for: 'KafkaProxy.kroxylicious.io default/my-proxy',
  changes: [
    {
      object: 'Secret default/upstream-ca',
      paths: ['data["ca.crt"]'],
      from: 'a1b2c3',
      to: 'd4e5f6',
      via: [
        'KafkaService(default/orders)',
        'plan kroxylicious.kafka-proxy(default/my-proxy)',
        'writes kroxylicious.kafka-proxy(default/my-proxy)',
      ],
    },
    { object: 'KafkaProtocolFilter.kroxylicious.io default/audit', paths: [], from: 'absent', to: 'ff00ff', via: [] },
  ],
  more: 1,
};

const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'main', image: 'a' }] } };
const workload = { selector: { matchLabels: { app: 'x' } }, template };

describe('why', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    const { client } = cluster;
    const annotations = {
      [CAUSE_ANNOTATION]: formatCause(cause),
      [OWNER_ANNOTATION]: 'kroxylicious.kafka-proxy KafkaProxy.kroxylicious.io default/my-proxy',
    };
    const meta = (name: string) => ({ namespace: 'default', name });
    const proxy = await client.create(Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { ...meta('my-proxy'), annotations },
      spec: workload,
    });
    const set = await client.create(ReplicaSet, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { ...meta('my-proxy-1'), ownerReferences: [ownedBy(proxy)] },
      spec: workload,
    });
    await client.create(Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...meta('my-proxy-1-x'), ownerReferences: [ownedBy(set)] },
      spec: template.spec,
    });
    await client.create(
      ConfigMap,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('mine'), data: { a: 'b' } },
      { fieldManager: 'by-hand' },
    );
  });
  after(() => cluster.close());
  const why = (...argv: string[]) => runTest(['why', ...argv], { transport: cluster.transport });

  for (const name of ['deployment/my-proxy', 'deploy/my-proxy', 'deployments.apps/my-proxy', 'Deployment my-proxy']) {
    test(`capstan why ${name} names the inputs that changed and the path from them`, async () => {
      const { code, out, err } = await why(...name.split(' '));
      assert.equal(err, '');
      assert.equal(code, 0);
      assert.equal(
        out,
        `Deployment default/my-proxy was changed at 2026-01-01T00:00:00Z by kroxylicious.kafka-proxy for KafkaProxy default/my-proxy because
  Secret upstream-ca key ca.crt changed → KafkaService orders → KafkaProxy my-proxy
    Secret upstream-ca: a1b2c3 → d4e5f6
  KafkaProtocolFilter audit was created
  and 1 further change.
`,
      );
    });
  }

  test('after a change that rolled nothing, still tells what the pods were last rolled for, and the templates', async () => {
    const scaled: CauseRecord = {
      at: '2026-01-02T00:00:00Z',
      by: cause.by,
      for: cause.for,
      changes: [{ object: cause.for, paths: ['spec.replicas'], from: '111111', to: '222222', via: [] }],
    };
    await cluster.client.create(Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        namespace: 'default',
        name: 'scaled',
        annotations: {
          [CAUSE_ANNOTATION]: formatCause(scaled),
          [ROLLED_ANNOTATION]: formatCause({
            at: cause.at,
            by: cause.by,
            for: cause.for,
            changes: cause.changes.slice(0, 1),
          }),
          [TEMPLATE_HISTORY_ANNOTATION]: 'v1.bbbb v1.aaaa',
        },
      },
      spec: workload,
    });
    const { out } = await why('deployment/scaled');
    assert.equal(
      out,
      `Deployment default/scaled was changed at 2026-01-02T00:00:00Z by kroxylicious.kafka-proxy for KafkaProxy default/my-proxy because
  KafkaProxy my-proxy spec.replicas changed
    KafkaProxy my-proxy: 111111 → 222222
Its pods were last rolled at 2026-01-01T00:00:00Z by kroxylicious.kafka-proxy for KafkaProxy default/my-proxy because
  Secret upstream-ca key ca.crt changed → KafkaService orders → KafkaProxy my-proxy
    Secret upstream-ca: a1b2c3 → d4e5f6
    pod template: v1.aaaa → v1.bbbb
`,
    );
  });

  test('follows the owners of an object that Capstan did not write itself', async () => {
    const { out } = await why('pod/my-proxy-1-x');
    assert.match(
      out,
      /^Pod default\/my-proxy-1-x belongs to ReplicaSet default\/my-proxy-1, which belongs to Deployment default\/my-proxy\.\nDeployment default\/my-proxy was changed at /,
    );
  });

  test('says of what Capstan never touched who does', async () => {
    const { code, out } = await why('cm/mine');
    assert.equal(code, 0);
    assert.match(
      out,
      /^Capstan has not changed ConfigMap default\/mine: it carries no cause; its fields are written by by-hand \(last at .*\)\.\n$/,
    );
  });

  test('prints the record as JSON', async () => {
    const { out } = await why('deployment/my-proxy', '-o', 'json');
    const answer = JSON.parse(out) as { cause: CauseRecord; owner: string };
    assert.deepEqual(answer.cause, cause);
    assert.match(answer.owner, /^kroxylicious\.kafka-proxy /);
    assert.equal((JSON.parse((await why('cm/mine', '-o', 'json')).out) as { cause: unknown }).cause, null);
  });

  test('says so when there is no such object or kind, with the nearest one', async () => {
    const gone = await why('deployment/gone', '-n', 'kube-system');
    assert.equal(gone.code, 1);
    assert.equal(
      gone.err,
      'error: there is no Deployment kube-system/gone; check the name, and give its namespace with -n\n',
    );
    const unknown = await why('deploymnt/x');
    assert.equal(unknown.code, 1);
    assert.equal(unknown.err, 'error: the cluster has no kind "deploymnt"; did you mean "deployment"?\n');
  });
});

function ownedBy({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject) {
  return { apiVersion, kind, name, uid, controller: true };
}
