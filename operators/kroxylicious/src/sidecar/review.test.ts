import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '@capstan/kube';
import { parse } from 'yaml';
import { admitted, cluster, config, pod } from '../../test/sidecar/fixtures.ts';
import { validateConfiguration } from '../configuration/validate.ts';
import { clusterFeatures } from './cluster-features.ts';
import {
  CONFIG_ANNOTATION,
  GENERATION_ANNOTATION,
  INJECTION_LABEL,
  PROXY_CONFIG_ANNOTATION,
  SKIPPED_LABEL,
} from './marks.ts';
import { type ReviewOptions, review } from './review.ts';

const NEW = clusterFeatures({ major: '1', minor: '36' });
const options = (configs: ReturnType<typeof config>[], more: Partial<ReviewOptions> = {}): ReviewOptions => ({
  configsIn: (namespace) => configs.filter(({ metadata }) => metadata.namespace === namespace),
  features: NEW,
  image: 'quay.io/kroxylicious/proxy:0.23.0',
  denyUninjected: false,
  ...more,
});
const ask = (given: Pod, reviewed: ReviewOptions, namespace = 'demo-app') =>
  review({ uid: 'u-1', namespace, object: given, operation: 'CREATE' }, reviewed).response;
const result = (given: Pod, reviewed: ReviewOptions) => admitted(given, ask(given, reviewed));
const sidecarOf = ({ spec }: Pod) =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === 'kroxylicious-proxy');

describe('a pod of a namespace with one config', () => {
  test('gets the proxy as a native sidecar, with its configuration as a file', () => {
    const given = result(pod(), options([config('demo', {}, 'demo-app', 7)]));
    const [sidecar] = given.spec?.initContainers ?? [];
    assert.deepEqual(
      [sidecar?.name, sidecar?.image, sidecar?.restartPolicy, sidecar?.args],
      [
        'kroxylicious-proxy',
        'quay.io/kroxylicious/proxy:0.23.0',
        'Always',
        ['--config', '/opt/kroxylicious/config/proxy-config.yaml'],
      ],
    );
    assert.equal(given.metadata.annotations?.[GENERATION_ANNOTATION], '7');
    const file = given.spec?.volumes?.find(({ name }) => name === sidecar?.volumeMounts?.[0]?.name);
    assert.equal(
      file?.downwardAPI?.items?.[0]?.fieldRef?.fieldPath,
      `metadata.annotations['${PROXY_CONFIG_ANNOTATION}']`,
    );
    const text = parse(given.metadata.annotations?.[PROXY_CONFIG_ANNOTATION] ?? '') as object;
    assert.deepEqual(validateConfiguration(text), []);
    assert.deepEqual(text, {
      management: { bindAddress: '0.0.0.0', port: 9082, endpoints: { prometheus: {} } },
      virtualClusters: [
        {
          name: 'my-cluster',
          targetCluster: { bootstrapServers: 'kafka.example:9092' },
          gateways: [
            {
              name: 'local',
              portIdentifiesNode: {
                bootstrapAddress: 'localhost:9092',
                advertisedBrokerAddressPattern: 'localhost',
                nodeStartPort: 9093,
                nodeIdRanges: [{ name: 'default', start: 0, end: 2 }],
              },
            },
          ],
        },
      ],
    });
    assert.deepEqual(sidecar?.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  test('gets it as a container on a server before 1.29, and jars by copy before 1.35', () => {
    const plugins = [{ name: 'mine', image: { reference: 'example.org/mine:1', pullPolicy: 'Always' } }];
    const old = options([config('demo', { plugins })], { features: clusterFeatures({ major: '1', minor: '28+' }) });
    const given = result(pod(), old);
    assert.deepEqual(
      given.spec?.containers.map(({ name }) => name),
      ['app', 'kroxylicious-proxy'],
    );
    assert.deepEqual(
      given.spec?.initContainers?.map(({ name, command }) => [name, command?.at(-1)]),
      [['plugin-mine-copy', 'cp /plugins/*.jar /dest/']],
    );
    const between = options([config('demo', { plugins })], { features: clusterFeatures({ major: '1', minor: '31' }) });
    // A second patch that adds the whole list would replace the first one, so both containers must be in it.
    assert.deepEqual(
      result(pod(), between).spec?.initContainers?.map(({ name }) => name),
      ['plugin-mine-copy', 'kroxylicious-proxy'],
    );
    const now = result(pod(), options([config('demo', { plugins })]));
    assert.deepEqual(now.spec?.volumes?.at(-1), {
      name: 'plugin-mine',
      image: { reference: 'example.org/mine:1', pullPolicy: 'Always' },
    });
    assert.equal(sidecarOf(now)?.volumeMounts?.at(-1)?.subPath, 'plugins');
  });

  test('gets the address of the proxy in its variable, whatever the variable was before', () => {
    const env = [
      { name: 'A', value: 'b' },
      { name: 'KAFKA_BOOTSTRAP_SERVERS', valueFrom: { configMapKeyRef: { name: 'kafka', key: 'servers' } } },
    ];
    const containers = [
      { name: 'one', image: 'i', env },
      { name: 'two', image: 'i', env: [] },
      { name: 'three', image: 'i' },
    ];
    const wanted = { name: 'KAFKA_BOOTSTRAP_SERVERS', value: 'localhost:19092' };
    const at = { virtualClusters: [cluster({ bootstrapPort: 19_092 })] };
    const given = result(pod({ spec: { containers } }), options([config('demo', at)]));
    assert.deepEqual(
      given.spec?.containers.map((one) => one.env),
      [[env[0], wanted], [wanted], [wanted]],
    );
    const left = result(pod({ spec: { containers } }), options([config('demo', { ...at, setBootstrapEnvVar: false })]));
    assert.deepEqual(left.spec?.containers, containers);
  });

  test('keeps its own annotations, volumes and init containers, and loses a proxy configuration of its own', () => {
    const given = result(
      pod({
        metadata: { annotations: { 'a.b/c~d': 'e', [PROXY_CONFIG_ANNOTATION]: 'evil: true' } },
        spec: {
          containers: [{ name: 'app', image: 'i' }],
          initContainers: [{ name: 'first', image: 'i' }],
          volumes: [
            { name: 'kroxylicious-config', emptyDir: {} },
            { name: 'secret-key', emptyDir: {} },
          ],
        },
      }),
      options([config('demo', { secretMounts: [{ name: 'key', secretName: 'kms' }] })]),
    );
    assert.equal(given.metadata.annotations?.['a.b/c~d'], 'e');
    assert.match(given.metadata.annotations?.[PROXY_CONFIG_ANNOTATION] ?? '', /virtualClusters/);
    assert.deepEqual(
      given.spec?.initContainers?.map(({ name }) => name),
      ['first', 'kroxylicious-proxy'],
    );
    const names = given.spec?.volumes?.map(({ name }) => name) ?? [];
    assert.equal(new Set(names).size, 4);
    assert.deepEqual(
      sidecarOf(given)?.volumeMounts?.map(({ name }) => name),
      names.slice(2),
    );
  });

  test('has Secrets of filters and trusted certificates as files, with valid names', () => {
    const long = 'a'.repeat(63);
    const tls = { targetClusterTls: { trustAnchorSecretRef: { name: 'ca', key: 'ca.crt' } } };
    const given = result(
      pod(),
      options([
        config('demo', {
          virtualClusters: [cluster(tls)],
          secretMounts: [{ name: long, secretName: 'kms' }],
          plugins: [{ name: long, image: { reference: 'example.org/p:1', pullPolicy: 'IfNotPresent' } }],
        }),
      ]),
    );
    const text = parse(given.metadata.annotations?.[PROXY_CONFIG_ANNOTATION] ?? '') as {
      virtualClusters: { targetCluster: object }[];
    };
    assert.deepEqual(text.virtualClusters[0]?.targetCluster, {
      bootstrapServers: 'kafka.example:9092',
      tls: { trust: { storeFile: '/opt/kroxylicious/tls/target/ca.crt', storeType: 'PEM' } },
    });
    const mounts = sidecarOf(given)?.volumeMounts?.map(({ mountPath }) => mountPath);
    assert.deepEqual(mounts?.slice(1), [
      '/opt/kroxylicious/tls/target',
      `/opt/kroxylicious/secrets/${long}`,
      `/opt/kroxylicious/classpath-plugins/${long}`,
    ]);
    for (const { name } of given.spec?.volumes ?? []) assert.match(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });

  test('is left alone in a second review, except for containers that were added meanwhile', () => {
    const reviewed = options([config('demo')]);
    const once = result(pod(), reviewed);
    assert.equal(ask(once, reviewed).patch, undefined);
    const more = {
      ...once,
      spec: { ...once.spec, containers: [...(once.spec?.containers ?? []), { name: 'late', image: 'i' }] },
    };
    const twice = result(more, reviewed);
    assert.equal(twice.spec?.containers.at(-1)?.env?.[0]?.value, 'localhost:9092');
    assert.equal(twice.metadata.labels?.[SKIPPED_LABEL], undefined);
  });

  test('gets a warning about ports on which two containers would listen', () => {
    const containers = [{ name: 'app', image: 'i', ports: [{ containerPort: 9094 }, { containerPort: 80 }] }];
    const { warnings } = ask(pod({ spec: { containers, hostNetwork: true } }), options([config('demo')]));
    assert.equal(warnings?.length, 2);
    assert.match(warnings[0] ?? '', /container app: port 9094 .*; change/);
  });
});

describe('a pod that gets no sidecar', () => {
  const bad = { virtualClusters: [cluster({ bootstrapPort: 9082 })] };
  const cases: [string, Pod, ReturnType<typeof config>[], string][] = [
    ['because the namespace has no config', pod(), [config('demo', {}, 'other')], 'no-KroxyliciousSidecarConfig'],
    ['because there are two', pod(), [config('a'), config('b')], 'ambiguous-KroxyliciousSidecarConfig'],
    [
      'because the one that it names is not there',
      pod({ metadata: { annotations: { [CONFIG_ANNOTATION]: 'c' } } }),
      [config('a')],
      'no-KroxyliciousSidecarConfig',
    ],
    ['because the config cannot be used', pod(), [config('a', bad)], 'invalid-KroxyliciousSidecarConfig'],
  ];
  for (const [why, given, configs, reason] of cases)
    test(`${why} gets a label, and is refused if the administrator wants that`, () => {
      const label = result(given, options(configs)).metadata.labels?.[SKIPPED_LABEL];
      assert.equal(label, reason);
      const { allowed, status } = ask(given, options(configs, { denyUninjected: true }));
      assert.deepEqual([allowed, status?.code], [false, 403]);
      assert.match(status?.message ?? '', new RegExp(reason));
    });

  test('because a container has the name is labelled and admitted: it may be the user’s own proxy', () => {
    const own = pod({
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'kroxylicious-proxy', image: 'mine' }] },
    });
    const denying = options([config('a')], { denyUninjected: true });
    const given = result(own, denying);
    assert.deepEqual(given.metadata.labels, { app: 'x', [SKIPPED_LABEL]: 'container-name-conflict' });
    assert.deepEqual(given.spec, own.spec);
  });

  test('because it declined has no label', () => {
    const response = ask(
      pod({ metadata: { labels: { [INJECTION_LABEL]: 'disabled' } } }),
      options([], { denyUninjected: true }),
    );
    assert.deepEqual(response, { uid: 'u-1', allowed: true });
  });

  const selects = (...values: string[]) => ({ key: 'kubernetes.io/os', operator: 'In', values });
  const affinity = (...nodeSelectorTerms: object[]) => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const forWindows: Record<string, object> = {
    os: { os: { name: 'windows' } },
    'node selector': { nodeSelector: { 'kubernetes.io/os': 'windows' } },
    'node affinity': affinity({ matchExpressions: [selects('windows')] }),
  };
  for (const [how, spec] of Object.entries(forWindows))
    test(`a pod for Windows nodes by its ${how} is admitted unchanged, also under the policy Deny`, () => {
      const windows = pod({ spec: { containers: [{ name: 'app', image: 'i' }], ...spec } });
      for (const denyUninjected of [false, true])
        assert.deepEqual(ask(windows, options([config('a')], { denyUninjected })), { uid: 'u-1', allowed: true });
    });

  const forLinux: Record<string, object> = {
    'its os is linux': { os: { name: 'linux' }, nodeSelector: { 'kubernetes.io/os': 'windows' } },
    'one term of its affinity allows Linux': affinity(
      { matchExpressions: [selects('windows')] },
      { matchExpressions: [selects('linux', 'windows')] },
    ),
    'its affinity has no terms': affinity(),
  };
  for (const [why, spec] of Object.entries(forLinux))
    test(`a pod gets its sidecar when ${why}`, () => {
      const linux = pod({ spec: { containers: [{ name: 'app', image: 'i' }], ...spec } });
      assert.equal(sidecarOf(result(linux, options([config('a')])))?.name, 'kroxylicious-proxy');
    });

  test('names the one of several configs', () => {
    const two = options([config('a'), config('b', { proxyImage: 'example.org/proxy:2' })]);
    const given = result(pod({ metadata: { annotations: { [CONFIG_ANNOTATION]: 'b' } } }), two);
    assert.equal(sidecarOf(given)?.image, 'example.org/proxy:2');
  });
});

test('a request without a pod is allowed', () => {
  for (const object of [null, undefined, 'text', { kind: 'ConfigMap' }])
    assert.deepEqual(review({ uid: 'x', object }, options([])), { response: { uid: 'x', allowed: true } });
});
