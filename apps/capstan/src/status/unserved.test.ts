import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, Deployment, formatMicroTime, type KubeObject, Lease, systemClock } from '@capstan/kube';
import sesame, { HTTPProxy, SesameConfiguration } from '@capstan/sesame';
import { createRandom, createTestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';

const namespace = 'default';
const proxy = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: HTTPProxy.apiVersion,
  kind: HTTPProxy.kind,
  metadata: { namespace, name, ...metadata },
  spec: { virtualhost: { fqdn: `${name}.example.org` }, routes: [{ services: [{ name: 'web', port: 80 }] }], ...spec },
});

async function cluster() {
  const { transport, client } = await createTestCluster({
    clock: systemClock,
    random: createRandom(1),
    operators: [sesame],
  });
  const status = (...argv: string[]) => runTest(['status', '--operators', 'sesame', ...argv], { transport });
  return { client, status, problems: async () => problemsOf((await status('-o', 'json')).out) };
}

function problemsOf(out: string): Record<string, string> {
  const { problems } = JSON.parse(out) as {
    problems: { kind: string; object: string; state: string; message: string }[];
  };
  return Object.fromEntries(
    problems
      .filter(({ kind }) => kind.startsWith('HTTPProxy'))
      .map(({ object, state, message }) => [object, `${state}: ${message}`]),
  );
}

/** A replica of Sesame that runs, as its Lease reports it. */
async function runs(client: Client, configuration: string, record: object = {}): Promise<void> {
  const state = { configuration, state: 'Running', source: 'resource', nacks: [], ...record };
  await client.create(Lease, {
    apiVersion: Lease.apiVersion,
    kind: Lease.kind,
    metadata: {
      namespace,
      name: `sesame-${configuration}-1`,
      labels: { 'projectsesame.io/instance': 'true' },
      annotations: { 'projectsesame.io/instance-state': JSON.stringify(state) },
    },
    spec: { renewTime: formatMicroTime(Date.now()), leaseDurationSeconds: 30 },
  });
}

test('an HTTPProxy that no Sesame serves is pending, and ends status with 3', async () => {
  const { client, status, problems } = await cluster();
  await client.create(HTTPProxy, proxy('plain') as KubeObject as HTTPProxy);
  assert.deepEqual(await problems(), {
    'default/plain':
      'Pending: no Sesame serves class sesame (the HTTPProxy names none): none runs; create a SesameDeployment',
  });
  const { code, out } = await status('--exit-code');
  assert.equal(code, 3);
  assert.match(out, /Pending .*no Sesame serves class sesame/);
  assert.equal((await status()).code, 0);
  await runs(client, 'sesame');
  assert.deepEqual(await problems(), { 'default/plain': 'Pending: no condition has been written yet' });
});

test('classes are those of configurations and flags of the Sesames that run, in the namespaces that they watch', async () => {
  const { client, problems } = await cluster();
  const create = (name: string, spec?: object, metadata?: object) =>
    client.create(HTTPProxy, proxy(name, spec, metadata) as KubeObject as HTTPProxy);
  await create('none');
  await create('inner', { ingressClassName: 'inner' });
  await create('outer', {}, { annotations: { 'kubernetes.io/ingress.class': 'outer' } });
  await create('other', { ingressClassName: 'other' });
  await client.create(SesameConfiguration, {
    apiVersion: SesameConfiguration.apiVersion,
    kind: SesameConfiguration.kind,
    metadata: { namespace, name: 'one' },
    spec: { ingress: { className: 'inner, outer' } },
  });
  await runs(client, 'one');
  const pending = 'Pending: no condition has been written yet';
  const unserved = (name: string) =>
    `Pending: no Sesame serves class ${name} in the namespace default; set spec.ingressClassName, or ingress.className of a SesameConfiguration`;
  assert.deepEqual(await problems(), {
    'default/none': unserved('sesame (the HTTPProxy names none)'),
    'default/inner': pending,
    'default/outer': pending,
    'default/other': unserved('other'),
  });
  const serve = (name: string, args: string[]) =>
    client.create(Deployment, {
      apiVersion: Deployment.apiVersion,
      kind: Deployment.kind,
      metadata: { namespace, name },
      spec: {
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: 'sesame', image: 'capstan', command: ['sesame'], args: ['serve', ...args] }] },
        },
      },
    });
  await serve('two', ['--sesame-config', 'two', '--ingress-class-name=other']);
  await runs(client, 'two', { source: 'defaults' });
  await serve('three', ['--sesame-config=three', '--watch-namespaces=elsewhere']);
  await runs(client, 'three', { source: 'defaults' });
  const found = await problems();
  assert.equal(found['default/other'], pending);
  assert.equal(found['default/none'], unserved('sesame (the HTTPProxy names none)'));
  await runs(client, 'file', { source: 'file' });
  assert.equal((await problems())['default/none'], pending);
});
