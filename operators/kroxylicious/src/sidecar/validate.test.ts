import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cluster, spec } from '../../test/sidecar/fixtures.ts';
import { clusterFeatures, parseFeatureGates } from './cluster-features.ts';
import { sidecarProblems } from './validate.ts';

const on = (more: object) => ({ virtualClusters: [cluster(more)] });
const filter = (name: string, config?: object) => ({ name, type: 'T', ...(config && { config }) });

test('a valid config has no problems', () => {
  const trusted = { targetClusterTls: { trustAnchorSecretRef: { name: 'ca', key: 'ca.crt' } } };
  for (const more of [
    {},
    on({ targetBootstrapServers: 'a:9092,b:9092' }),
    on({ nodeIdRange: { startInclusive: 5, endInclusive: 5 } }),
    on({ bootstrapPort: 65_532 }),
    on(trusted),
    on({ targetClusterTls: {} }),
    { filterDefinitions: [filter('a', {}), filter('b')] },
    { resources: { requests: { cpu: '100m', memory: 268435456 }, limits: { cpu: 1 } } },
  ])
    assert.deepEqual(sidecarProblems(spec(more)), [], JSON.stringify(more));
});

test('problems beyond the schema are reported with the field and the remedy', () => {
  const cases: [object, RegExp][] = [
    [{ virtualClusters: [] }, /^spec\.virtualClusters must have one entry/],
    [on({ targetBootstrapServers: ' ' }), /^spec\.virtualClusters\[0\]\.targetBootstrapServers /],
    [on({ targetBootstrapServers: 'kafka' }), /^spec\.virtualClusters\[0\]\.targetBootstrapServers /],
    [on({ nodeIdRange: { startInclusive: 3, endInclusive: 2 } }), /startInclusive \(3\) must not exceed.*\(2\); swap/],
    [on({ bootstrapPort: 65_533 }), /65534 to 65536, end after 65535; lower/],
    [on({ bootstrapPort: 9082 }), /bootstrapPort \(9082\) must not equal spec\.managementPort/],
    [{ managementPort: 9094 }, /managementPort \(9094\) is one of the ports of brokers, 9093 to 9095/],
    [{ filterDefinitions: [filter('a'), filter('a')] }, /^spec\.filterDefinitions has two entries of the name "a"/],
    [{ secretMounts: [{ name: 'a', secretName: 'UPPER' }] }, /^spec\.secretMounts\[0\]\.secretName \("UPPER"\)/],
    [
      on({ targetClusterTls: { trustAnchorSecretRef: { name: 'ca', key: '../../etc/passwd' } } }),
      /trustAnchorSecretRef\.key \("\.\.\/\.\.\/etc\/passwd"\)/,
    ],
    [{ proxyImage: '' }, /^spec\.proxyImage \(""\) is no reference of an image/],
    [{ resources: { limits: { cpu: 'much' } } }, /^spec\.resources\.limits\.cpu \("much"\) is no quantity/],
    [{ resources: { requests: [] } }, /^spec\.resources\.requests must be an object/],
    [{ resources: { requests: { cpu: 2 }, limits: { cpu: '1' } } }, /requests\.cpu \(2\) exceeds its limit \(1\)/],
    [{ filterDefinitions: [filter('a', { x: 'y'.repeat(200_000) })] }, /secretMounts/],
  ];
  for (const [more, message] of cases) {
    const problems = sidecarProblems(spec(more));
    assert.equal(problems.length, 1, JSON.stringify(more).slice(0, 200) + problems.join());
    assert.match(problems[0] ?? '', message);
  }
});

test('features follow the version of the server, and gates override it', () => {
  const cases: [{ major?: string; minor?: string } | undefined, string, boolean, boolean][] = [
    [undefined, '', false, false],
    [{}, '', false, false],
    [{ major: '1', minor: '28' }, '', false, false],
    [{ major: '1', minor: '29+' }, '', true, false],
    [{ major: '1', minor: '35' }, '', true, true],
    [{ major: '2', minor: '0' }, '', true, true],
    [{ major: '1', minor: '31' }, 'ImageVolume=true, SidecarContainers=false', false, true],
  ];
  for (const [version, gates, nativeSidecars, imageVolumes] of cases)
    assert.deepEqual(clusterFeatures(version, parseFeatureGates(gates)), { nativeSidecars, imageVolumes });
  for (const wrong of ['ImageVolume', 'ImageVolume=yes', '=true']) assert.equal(parseFeatureGates(wrong), undefined);
});
