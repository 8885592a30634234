// The admission webhook beside a server that calls it: embedded, or real with CAPSTAN_TEST_SERVER=real.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Client,
  type CustomResourceDefinition,
  CustomResourceDefinition as Definition,
  type Kind,
  Namespace,
  Secret,
  silentLogger,
  systemClock,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { chosenServer, createRandom, createTestCluster, startRealCluster } from '@capstan/testing';
import { installationObjects } from '../install/manifests.ts';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { ADMISSION_LABEL, ADMISSION_NAME, ADMISSION_SECRET } from './names.ts';
import { serveAdmission } from './serve-admission.ts';

const NAMESPACE = 'capstan-system';
const LIMIT_MS = 60_000;
const ends: (() => unknown)[] = [];
let client: Client;
let operators: readonly Operator[];
let stopServing: () => Promise<void>;

before(async () => {
  operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  const checks = operators.flatMap(({ admission = [] }) => admission);
  if (chosenServer() === 'real') {
    const real = await startRealCluster({});
    ends.push(() => real.close());
    ({ client } = real);
    for (const { kind } of checks)
      await client.create(Definition, (kind as unknown as { crd(): CustomResourceDefinition }).crd());
    for (const { kind } of checks) await until(() => client.list(kind), `${kind.plural} are served`);
  } else {
    const embedded = await createTestCluster({ clock: systemClock, random: createRandom(1), operators });
    ends.push(() => embedded.close());
    ({ client } = embedded);
  }
  await client
    .create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
    .catch(() => {});
  const stopping = new AbortController();
  const started = Promise.withResolvers<number>();
  const serving = serveAdmission(
    {
      client,
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      checks,
      namespace: NAMESPACE,
      host: '127.0.0.1',
      port: 0,
      // Its Service has no address that this server reaches.
      dnsNames: ['localhost'],
      pollMs: 100,
      started: ({ port }) => started.resolve(port),
    },
    stopping.signal,
  );
  serving.catch(started.reject);
  stopServing = async () => {
    stopping.abort();
    await serving;
  };
  ends.unshift(stopServing);
  await register(await started.promise);
});

after(async () => {
  for (const end of ends) await end();
});

describe('the admission webhook', () => {
  test('refuses what an operator could only report: each with its own rules, and names the field', async () => {
    const cases: [string, object, RegExp][] = [
      [
        'CablePolicies',
        { spec: [{ leftClusterID: {}, cableDriver: { name: 'pigeon' } }] },
        /CablePolicies default\/wrong is not valid: spec\[0\]/,
      ],
      [
        'KafkaService',
        { spec: { bootstrapServers: 'kafka:99999' } },
        /KafkaService default\/wrong is not valid: spec\.bootstrapServers/,
      ],
      [
        'KafkaProtocolFilter',
        { spec: { type: 'X', configTemplate: { a: 'x${secret:n:k}' } } },
        /spec\.configTemplate\.a: a placeholder must be the whole value/,
      ],
      [
        'HTTPProxy',
        { spec: proxySpec('a.example.com', '(') },
        /HTTPProxy default\/wrong is not valid: .*spec\.routes\[0\]/,
      ],
      ['Provider', { spec: { package: 'UPPER/case:::' } }, /Provider wrong is not valid: spec\.package/],
    ];
    for (const [kind, body, message] of cases)
      await assert.rejects(ask(kind, 'wrong', body), (error: Error) => {
        assert.match(error.message, /denied the request/, kind);
        assert.match(error.message, message);
        return true;
      });
  });

  test('accepts what is valid, and references that are not there yet', async () => {
    await create('KafkaService', 'right', { spec: { bootstrapServers: 'kafka.default.svc:9092' } });
    await create('HTTPProxy', 'right', { spec: proxySpec('right.example.com', '/a.*') });
    await create('Provider', 'right', { spec: { package: 'registry.example.com/team/provider:v1.0.0' } });
  });

  test('refuses a host that another proxy serves: both would go down', async () => {
    await create('HTTPProxy', 'shop', { spec: proxySpec('shop.example.com', '/') });
    await until(async () => {
      // The webhook sees the first proxy as soon as its watch brings it.
      const refused = ask('HTTPProxy', 'thief', { spec: proxySpec('shop.example.com', '/') });
      await assert.rejects(refused, /is the host of HTTPProxy default\/shop/);
    }, 'the second proxy is refused');
    // Another instance serves another class.
    await ask('HTTPProxy', 'inner', { spec: { ...proxySpec('shop.example.com', '/'), ingressClassName: 'internal' } });
  });

  test('lets edits of an object pass that was wrong before, and its deletion, but no further error', async () => {
    const kind = kindOf('KafkaService');
    const ref = { namespace: 'excluded', name: 'old' };
    await client.create(Namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'excluded', labels: { [ADMISSION_LABEL]: 'disabled' } },
    });
    // A namespace that is excluded is not asked about.
    await create('KafkaService', 'old', { spec: { bootstrapServers: 'kafka:99999' } }, 'excluded');
    await client.patch(Namespace, { name: 'excluded' }, 'merge', { metadata: { labels: { [ADMISSION_LABEL]: null } } });
    await until(
      () => assert.rejects(ask('KafkaService', 'new', { spec: { bootstrapServers: 'kafka:99999' } }, 'excluded')),
      'the namespace is looked at',
    );
    await client.patch(kind, ref, 'merge', { metadata: { labels: { a: 'b' } } });
    await assert.rejects(client.patch(kind, ref, 'merge', { spec: { bootstrapServers: 'other:88888' } }), /denied/);
    await client.delete(kind, ref);
  });

  test('renews a certificate that was broken, and registers its authority again', async () => {
    const before = await client.get(ValidatingWebhookConfiguration, { name: ADMISSION_NAME });
    await client.patch(Secret, { namespace: NAMESPACE, name: ADMISSION_SECRET }, 'merge', {
      data: { 'tls.crt': '', 'ca.crt': '' },
    });
    await until(async () => {
      const { webhooks = [] } = await client.get(ValidatingWebhookConfiguration, { name: ADMISSION_NAME });
      assert.notEqual(webhooks[0]?.clientConfig.caBundle, before.webhooks?.[0]?.clientConfig.caBundle);
    }, 'another authority');
    await until(
      () => assert.rejects(ask('KafkaService', 'wrong', { spec: { bootstrapServers: 'kafka:99999' } }), /denied/),
      'it is asked again',
    );
  });

  test('blocks nothing when it is gone', async () => {
    await stopServing();
    await create('KafkaService', 'unchecked', { spec: { bootstrapServers: 'kafka:99999' } });
  });
});

/** As an installation registers it, at the address where it is here. */
async function register(port: number): Promise<void> {
  const { workloads } = installationObjects({
    operators: [],
    namespace: NAMESPACE,
    image: 'capstan',
    version: '0',
    replicas: 2,
    isOneProgram: false,
    hasServiceMonitors: false,
    args: new Map(),
    admission: operators,
  });
  const found = [...workloads.values()].flat().find(({ kind }) => kind === ValidatingWebhookConfiguration.kind);
  const { webhooks = [], ...rest } = found as ValidatingWebhookConfiguration;
  await client.create(ValidatingWebhookConfiguration, {
    ...rest,
    webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig: { url: `https://localhost:${port}/validate` } })),
  });
  await until(
    () => assert.rejects(ask('KafkaService', 'asked', { spec: { bootstrapServers: 'kafka:99999' } }), /denied/),
    'the webhook is asked',
  );
}

function kindOf(name: string): Kind {
  const found = operators.flatMap(({ kinds }) => kinds).find(({ kind }) => kind === name);
  assert.ok(found, name);
  return found;
}

/** Nothing is stored. */
function ask(name: string, called: string, body: object, namespace = 'default'): Promise<void> {
  return create(name, called, body, namespace, true);
}

async function create(
  name: string,
  called: string,
  body: object,
  namespace = 'default',
  dryRun = false,
): Promise<void> {
  const kind = kindOf(name);
  const metadata = { name: called, ...(kind.scope === 'Namespaced' && { namespace }) };
  await client.create(
    kind,
    { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...body },
    {
      dryRun,
    },
  );
}

function proxySpec(fqdn: string, regex: string) {
  return {
    virtualhost: { fqdn },
    routes: [{ conditions: [{ regex }], services: [{ name: 'web', port: 80 }] }],
  };
}

async function until(holds: () => Promise<unknown>, what: string): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    try {
      await holds();
      return;
    } catch (error) {
      if (Date.now() > end) throw new Error(`still waiting for this: ${what}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
