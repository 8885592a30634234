// Fields of a KroxyliciousSidecarConfig that the API accepts or refuses, as the original does.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRandom, createTestCluster, createVirtualClock, type TestCluster } from '@capstan/testing';
import { createKroxylicious, KroxyliciousSidecarConfig } from '../../src/index.ts';
import { object } from '../fixtures.ts';

let server: TestCluster;
before(async () => {
  const operators = [createKroxylicious()];
  server = await createTestCluster({ clock: createVirtualClock(), random: createRandom(1), operators });
});
after(() => server.close());

const tryOut = (spec: unknown, name = 'x') =>
  server.client.create(KroxyliciousSidecarConfig, object(KroxyliciousSidecarConfig, name, { spec }) as never, {
    dryRun: true,
  });
const on = (more: object = {}, rest: object = {}) => ({
  virtualClusters: [{ name: 'demo', targetBootstrapServers: 'kafka.example:9092', ...more }],
  ...rest,
});
const image = { reference: 'example.org/plugin@sha256:00' };

test('a config gets its defaults', async () => {
  const { spec } = await tryOut(on({ nodeIdRange: {} }, { plugins: [{ name: 'p', image }] }));
  assert.deepEqual(spec, {
    virtualClusters: [
      {
        name: 'demo',
        targetBootstrapServers: 'kafka.example:9092',
        bootstrapPort: 9092,
        nodeIdRange: { startInclusive: 0, endInclusive: 2 },
      },
    ],
    managementPort: 9082,
    setBootstrapEnvVar: true,
    plugins: [{ name: 'p', image: { ...image, pullPolicy: 'IfNotPresent' } }],
  });
});

test('a spec that the original accepts is accepted', async () => {
  const all = on(
    {
      bootstrapPort: 1024,
      nodeIdRange: { startInclusive: 0, endInclusive: 0 },
      targetClusterTls: { trustAnchorSecretRef: { name: 'ca', key: 'ca.crt' } },
    },
    {
      proxyImage: 'example.org/proxy:1',
      managementPort: 65_535,
      resources: { requests: { cpu: '1' } },
      setBootstrapEnvVar: false,
      filterDefinitions: [
        { name: 'A.b_c-1', type: 'T', config: { deep: { er: [1] } } },
        { name: 'x', type: 'T' },
      ],
      secretMounts: [{ name: 'a', secretName: 'b' }],
    },
  );
  assert.deepEqual((await tryOut(all)).spec, all);
});

test('a spec that the original refuses is refused, with the field', async () => {
  const long = 'a'.repeat(64);
  const cases: [unknown, RegExp][] = [
    [undefined, /spec/],
    [{}, /spec\.virtualClusters/],
    [{ virtualClusters: [] }, /spec\.virtualClusters/],
    [{ virtualClusters: [...on().virtualClusters, ...on().virtualClusters] }, /spec\.virtualClusters/],
    [{ virtualClusters: [{ name: 'demo' }] }, /targetBootstrapServers/],
    [{ virtualClusters: [{ targetBootstrapServers: 'a:1' }] }, /virtualClusters\[0\]\.name/],
    [on({ name: 'Demo' }), /virtualClusters\[0\]\.name/],
    [on({ name: long }), /virtualClusters\[0\]\.name/],
    [on({ bootstrapPort: 1023 }), /bootstrapPort/],
    [on({ bootstrapPort: 65_536 }), /bootstrapPort/],
    [on({ nodeIdRange: { startInclusive: -1 } }), /startInclusive/],
    [on({ nodeIdRange: { endInclusive: -1 } }), /endInclusive/],
    [on({ targetClusterTls: { trustAnchorSecretRef: { key: 'k' } } }), /trustAnchorSecretRef\.name/],
    [on({ targetClusterTls: { trustAnchorSecretRef: { name: 'n' } } }), /trustAnchorSecretRef\.key/],
    [on({}, { managementPort: 1023 }), /managementPort/],
    [on({}, { managementPort: 65_536 }), /managementPort/],
    [on({}, { filterDefinitions: [{ type: 'T' }] }), /filterDefinitions\[0\]\.name/],
    [on({}, { filterDefinitions: [{ name: '-a', type: 'T' }] }), /filterDefinitions\[0\]\.name/],
    [on({}, { filterDefinitions: [{ name: 'a' }] }), /filterDefinitions\[0\]\.type/],
    [on({}, { secretMounts: [{ secretName: 's' }] }), /secretMounts\[0\]\.name/],
    [on({}, { secretMounts: [{ name: 'a.b', secretName: 's' }] }), /secretMounts\[0\]\.name/],
    [on({}, { secretMounts: [{ name: 'a' }] }), /secretMounts\[0\]\.secretName/],
    [on({}, { plugins: [{ name: 'a' }] }), /plugins\[0\]\.image/],
    [on({}, { plugins: [{ name: 'a', image: {} }] }), /plugins\[0\]\.image\.reference/],
    [on({}, { plugins: [{ name: long, image }] }), /plugins\[0\]\.name/],
    [on({}, { plugins: [{ name: 'a', image: { ...image, pullPolicy: 'Sometimes' } }] }), /pullPolicy/],
  ];
  for (const [spec, field] of cases) await assert.rejects(tryOut(spec), field, JSON.stringify(spec));
  await assert.rejects(tryOut(on(), long), /metadata\.name/);
  await assert.rejects(tryOut(on(), 'a.b'), /metadata\.name/);
});
