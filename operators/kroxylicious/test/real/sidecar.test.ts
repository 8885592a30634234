// Tests a sidecar that the webhook injected, with the real proxy. It reads the configuration from the pod's annotation, and an application
// reaches Kafka by the address in its environment variable.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import type { Pod } from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { clusterFeatures } from '../../src/sidecar/cluster-features.ts';
import { review } from '../../src/sidecar/review.ts';
import { admitted, cluster, config, pod } from '../sidecar/fixtures.ts';
import { startBroker } from './broker.ts';
import { java, folder as real, realProxy, skip, until } from './programs.ts';

/** Returns the pod as it is admitted in a namespace with this config. */
function injected(spec: object): Pod {
  const given = pod();
  const { response } = review(
    { uid: 'u', namespace: 'demo-app', object: given },
    {
      configsIn: () => [config('demo', spec)],
      features: clusterFeatures({ major: '1', minor: '36' }),
      image: 'quay.io/kroxylicious/proxy:0.23.0',
      denyUninjected: true,
    },
  );
  assert.equal(response.allowed, true, response.status?.message ?? '');
  return admitted(given, response);
}

const configurationOf = ({ metadata }: Pod) => metadata.annotations?.['sidecar.kroxylicious.io/proxy-config'] ?? '';

/** Returns a port whose successor is free as well. */
async function freePair(): Promise<number> {
  for (;;) {
    const [first = 0] = await freePorts(1);
    const server = createServer().listen(first + 1, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return first;
  }
}

test('an application produces and consumes through the real proxy beside it', { skip, timeout: 150_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-kroxylicious-'));
  const cleanUp: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  t.after(async () => {
    for (const undo of cleanUp.toReversed()) await undo();
  });
  mkdirSync(join(folder, 'broker'));
  const broker = await startBroker(join(folder, 'broker'));
  cleanUp.push(() => broker.program.stop());
  const bootstrapPort = await freePair();
  const [managementPort = 0] = await freePorts(1);
  const given = injected({
    managementPort,
    virtualClusters: [
      cluster({
        bootstrapPort,
        targetBootstrapServers: broker.bootstrap,
        nodeIdRange: { startInclusive: 0, endInclusive: 0 },
      }),
    ],
  });
  const file = join(folder, 'proxy-config.yaml');
  writeFileSync(file, configurationOf(given));
  const classes = [join(real, 'classes'), join(real, 'proxy', '*')].join(delimiter);
  const proxy = java('proxy', ['-cp', classes, realProxy?.main ?? '', '--config', file]);
  cleanUp.push(() => proxy.stop());
  await until('the probe of the sidecar is answered', () => isAlive(managementPort), { instead: proxy.errors });

  const address = given.spec?.containers[0]?.env?.find(({ name }) => name === 'KAFKA_BOOTSTRAP_SERVERS')?.value ?? '';
  assert.equal(address, `localhost:${bootstrapPort}`);
  const traffic = java('kafka', [join(import.meta.dirname, 'Traffic.java'), 'app', address, '-']);
  cleanUp.push(() => traffic.stop());
  const read = () => traffic.lines.some((line) => Number(/^app read (\d+)$/.exec(line)?.[1]) >= 100);
  await until('100 records are read', read, { instead: () => traffic.errors() + proxy.errors() });
  traffic.input.end();
  assert.equal(await traffic.ended, 0, traffic.errors());
  assert.ok(
    traffic.lines.some((line) => /^app sent \d+ .* inOrder true$/.test(line)),
    traffic.lines.at(-1) ?? 'no line',
  );
});

test('the real proxy accepts the configuration of every kind of config', { skip, timeout: 100_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-kroxylicious-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const filters = [
    {
      name: 'a.b_C-1',
      type: 'ProduceRequestTransformation',
      config: { transformation: 'UpperCasing', transformationConfig: { charset: 'UTF-8' } },
    },
    { name: 'tenants', type: 'MultiTenant' },
  ];
  const specs: object[] = [
    {},
    { virtualClusters: [cluster({ bootstrapPort: 1024, nodeIdRange: { startInclusive: 7, endInclusive: 60 } })] },
    { virtualClusters: [cluster({ targetBootstrapServers: 'a.example:9092, b.example:9093,[::1]:9094' })] },
    { filterDefinitions: filters },
    { managementPort: 65_535 },
  ];
  const files = specs.map((spec, i) => {
    const file = join(folder, `${i}.yaml`);
    writeFileSync(file, configurationOf(injected(spec)));
    return file;
  });
  const program = java('proxy', [join(import.meta.dirname, 'Accept.java'), ...files]);
  assert.equal(await program.ended, 0, program.errors());
  const answers = program.lines.filter((line) => line.startsWith('answer: '));
  assert.deepEqual(
    answers,
    specs.map(() => 'answer: accepted'),
  );
});

async function isAlive(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/livez`).catch(() => undefined);
  return answer?.status === 200;
}
