import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const PODS = `${NAMESPACE}/pods`;
const SERVICES = `${NAMESPACE}/services`;
const INGRESSES = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const named = (parts: object) => ({ metadata: { name: 'x' }, ...parts });
const pod = (container: object, spec: object = {}) =>
  named({ spec: { containers: [{ name: 'c', image: 'i', ...container }], ...spec } });
const service = (spec: object) => named({ spec });
const path = (more: object) => ({
  spec: { rules: [{ http: { paths: [{ backend: { service: { name: 's', port: { number: 80 } } }, ...more }] } }] },
});
const template = (labels: object) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } });

/** Name, path, object, and the causes as `field: message`. */
const refusals: [name: string, path: string, object: object, causes: (string | RegExp)[]][] = [
  [
    'a deployment without a selector',
    DEPLOYMENTS,
    deployment('x', { selector: undefined }),
    [
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`',
    ],
  ],
  [
    'a deployment that does not select its own pods',
    DEPLOYMENTS,
    deployment('x', { template: template({ app: 'y' }) }),
    ['spec.template.metadata.labels: Invalid value: {"app":"y"}: `selector` does not match template `labels`'],
  ],
  [
    'a negative number of replicas',
    DEPLOYMENTS,
    deployment('x', { replicas: -1 }),
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'a rollout that can never begin',
    DEPLOYMENTS,
    deployment('x', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }),
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
  ],
  [
    'a deployment of pods that end',
    DEPLOYMENTS,
    deployment('x', {
      template: { ...template({ app: 'x' }), spec: { ...template({}).spec, restartPolicy: 'Never' } },
    }),
    ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  ],
  ['a pod without containers', PODS, named({ spec: { containers: [] } }), ['spec.containers: Required value']],
  [
    'two containers of a name, one without an image',
    PODS,
    named({ spec: { containers: [{ name: 'a', image: 'i' }, { name: 'a' }] } }),
    ['spec.containers[1].image: Required value', 'spec.containers[1].name: Duplicate value: "a"'],
  ],
  [
    'a container whose name is none',
    PODS,
    pod({ name: 'A' }),
    [/^spec\.containers\[0\]\.name: Invalid value: "A": a lowercase RFC 1123 label must consist of/],
  ],
  [
    'a privileged container that may not get more privileges',
    PODS,
    pod({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    [
      /^spec\.containers\[0\]\.securityContext: Invalid value: .*: cannot set `allowPrivilegeEscalation` to false and `privileged` to true$/,
    ],
  ],
  [
    'a port of the machine that is another one in a pod with the network of the machine',
    PODS,
    named({
      spec: {
        hostNetwork: true,
        containers: [{ name: 'a', image: 'i', ports: [{ containerPort: 80, hostPort: 81 }] }],
      },
    }),
    ['spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true'],
  ],
  [
    'more than a limit, and part of a device',
    PODS,
    pod({
      resources: {
        limits: { cpu: '1', 'example.com/gpu': '1500m' },
        requests: { cpu: '2', 'example.com/gpu': '1500m' },
      },
    }),
    [
      'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
      'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
    ],
  ],
  [
    'ports that are none',
    PODS,
    pod({ ports: [{ containerPort: 70000 }, { containerPort: 80, name: 'u.p' }] }),
    [
      'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      /^spec\.containers\[0\]\.ports\[1\]\.name: Invalid value: "u\.p": must contain only/,
    ],
  ],
  [
    'a variable with a value from two places',
    PODS,
    pod({ env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }, { name: 'B=' }] }),
    [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
      'spec.containers[0].env[1].name: Invalid value: "B=": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
    ],
  ],
  [
    'a probe of two kinds, and one of none',
    PODS,
    pod({ readinessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 80 } }, livenessProbe: { successThreshold: 2 } }),
    [
      'spec.containers[0].livenessProbe: Required value: must specify a handler type',
      'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
      'spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
    ],
  ],
  [
    'a mount of a volume that is not there',
    PODS,
    pod({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    'more requested than allowed',
    PODS,
    pod({ resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }),
    ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [
    'a toleration of everything that says so wrongly',
    PODS,
    pod({}, { tolerations: [{ operator: 'Equal' }] }),
    [/^spec\.tolerations\[0\]\.operator: Invalid value: "Equal": operator must be Exists when `key` is empty/],
  ],
  ['a service without ports', SERVICES, service({}), ['spec.ports: Required value']],
  [
    'several ports without names',
    SERVICES,
    service({ ports: [{ port: 80 }, { port: 80, name: 'b' }] }),
    [
      'spec.ports[0].name: Required value',
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  ],
  [
    'a node port for inside only',
    SERVICES,
    service({ ports: [{ port: 80, nodePort: 30000 }] }),
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
  ['an alias of nothing', SERVICES, service({ type: 'ExternalName' }), ['spec.externalName: Required value']],
  [
    'a secret for TLS without a key',
    `${NAMESPACE}/secrets`,
    named({ type: 'kubernetes.io/tls', data: { 'tls.crt': '' } }),
    ['data[tls.key]: Required value'],
  ],
  [
    'a config map whose key is no file name',
    CONFIG_MAPS,
    configMap('x', { 'a/b': '' }),
    [/^data\[a\/b\]: Invalid value: "a\/b": a valid config key must consist of alphanumeric characters/],
  ],
  [
    'an ingress of nothing',
    INGRESSES,
    named({ spec: {} }),
    ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
  ],
  [
    'a path without a type',
    INGRESSES,
    named(path({ path: '/a' })),
    ['spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified'],
  ],
  [
    'a path that is not absolute, with dots',
    INGRESSES,
    named(path({ path: 'a/../b', pathType: 'Prefix' })),
    [
      'spec.rules[0].http.paths[0].path: Invalid value: "a/../b": must be an absolute path',
      'spec.rules[0].http.paths[0].path: Invalid value: "a/../b": must not contain \'/../\'',
    ],
  ],
  [
    'an endpoint on the loopback interface',
    SLICES,
    named({ addressType: 'IPv4', endpoints: [{ addresses: ['127.0.0.1'] }] }),
    ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ],
  [
    'a role of nothing',
    `${RBAC}/namespaces/default/roles`,
    named({ rules: [{ verbs: [] }] }),
    [
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
  ],
  [
    'a subject of an unknown kind or without a namespace',
    `${RBAC}/clusterrolebindings`,
    named({
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'Robot', name: 'r' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    }),
    [
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      'subjects[1].namespace: Required value',
    ],
  ],
  [
    'a lease of no time',
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    named({ spec: { leaseDurationSeconds: 0 } }),
    ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  ],
  [
    'a budget with two limits',
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    named({ spec: { minAvailable: 1, maxUnavailable: '101%' } }),
    [/^spec: Invalid value: .*minAvailable and maxUnavailable cannot be both set$/, /must not be greater than 100%$/],
  ],
];

describe('validation of built-in kinds', () => {
  for (const [name, where, object, causes] of refusals) {
    it(`refuses ${name}`, async () => {
      const test = testServer();
      const status = await test.refused('POST', where, object);
      assert.equal(status.reason, 'Invalid', status.message ?? '');
      const told = (status.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
      assert.equal(told.length, causes.length, told.join('\n'));
      for (const [index, cause] of causes.entries()) {
        if (typeof cause === 'string') assert.equal(told[index], cause);
        else assert.match(told[index] ?? '', cause);
      }
    });
  }

  it('accepts the addresses of the embedded cluster as endpoints', async () => {
    const test = testServer();
    const endpoints = [{ addresses: ['127.64.0.1'] }, { addresses: ['127.111.0.1'] }];
    await test.ok('POST', SLICES, named({ addressType: 'IPv4', endpoints }));
  });

  it('names every mistake in one message', async () => {
    const test = testServer();
    const status = await test.refused('POST', PODS, named({ spec: { containers: [{ name: 'a' }, { name: 'b' }] } }));
    assert.equal(
      status.message,
      'Pod "x" is invalid: [spec.containers[0].image: Required value, spec.containers[1].image: Required value]',
    );
  });
});

const MERGE = { contentType: 'application/merge-patch+json' };

/** The existing object, a merge patch of it, and the cause. */
const changes: [name: string, path: string, object: object, patch: object, cause: string][] = [
  [
    'the selector of a deployment',
    DEPLOYMENTS,
    deployment('x', { template: template({ app: 'x', b: '1' }) }),
    { spec: { selector: { matchLabels: { b: '1' } } } },
    'spec.selector: Invalid value: {"matchLabels":{"app":"x","b":"1"}}: field is immutable',
  ],
  [
    'the type of a secret',
    `${NAMESPACE}/secrets`,
    named({ data: { a: 'YQ==' } }),
    { type: 'other' },
    'type: Invalid value: "other": field is immutable',
  ],
  [
    'an immutable config map',
    CONFIG_MAPS,
    { ...configMap('x', { a: '1' }), immutable: true },
    { data: { a: '2' } },
    'data: Forbidden: field is immutable when `immutable` is set',
  ],
  [
    'what a binding binds',
    `${RBAC}/namespaces/default/rolebindings`,
    named({ roleRef: { kind: 'Role', name: 'r' } }),
    { roleRef: { name: 's' } },
    'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change roleRef',
  ],
  [
    'the type of addresses of a slice',
    SLICES,
    named({ addressType: 'IPv4', endpoints: [] }),
    { addressType: 'IPv6' },
    'addressType: Invalid value: "IPv6": field is immutable',
  ],
];

describe('what may not change', () => {
  for (const [name, where, object, patch, cause] of changes) {
    it(name, async () => {
      const test = testServer();
      await test.ok('POST', where, object);
      const status = await test.refused('PATCH', `${where}/x`, patch, MERGE);
      const [first] = status.details?.causes ?? [];
      assert.equal(`${first?.field}: ${first?.message}`, cause);
    });
  }

  it('a change of an event or a budget is refused for its metadata and its content, a new one for its content alone', async () => {
    const test = testServer();
    const metadata = { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: '' }] };
    const about = { kind: 'Pod', name: 'a', namespace: 'default' };
    const tables: [where: string, object: object, patch: object, field: string][] = [
      [
        `${NAMESPACE}/events`,
        named({ involvedObject: about }),
        { involvedObject: { namespace: 'b' } },
        'involvedObject.namespace',
      ],
      [
        '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
        named({ spec: { minAvailable: 1, selector: {} } }),
        { spec: { minAvailable: -1 } },
        'spec.minAvailable',
      ],
    ];
    for (const [where, object, patch, field] of tables) {
      await test.ok('POST', where, object);
      const changed = await test.refused('PATCH', `${where}/x`, { ...patch, metadata }, MERGE);
      const fields = (changed.details?.causes ?? []).map((cause) => cause.field);
      assert.deepEqual(fields, ['metadata.ownerReferences.uid', field]);
      const created = await test.refused(
        'POST',
        where,
        named({ ...object, ...patch, metadata: { name: 'y', ...metadata } }),
      );
      assert.deepEqual(
        created.details?.causes?.map((cause) => cause.field),
        [field],
      );
    }
  });

  it('the command of a pod, while its image may', async () => {
    const test = testServer();
    await test.ok('POST', PODS, pod({}));
    await test.ok('PATCH', `${PODS}/x`, [{ op: 'replace', path: '/spec/containers/0/image', value: 'j' }], {
      contentType: 'application/json-patch+json',
    });
    const command = [{ op: 'add', path: '/spec/containers/0/command', value: ['x'] }];
    const status = await test.refused('PATCH', `${PODS}/x`, command, { contentType: 'application/json-patch+json' });
    assert.match(
      status.message ?? '',
      /spec: Forbidden: pod updates may not change fields other than `spec\.containers/,
    );
  });
});

const types: [name: string, path: string, object: object, problem: string][] = [
  [
    'a text for a number',
    DEPLOYMENTS,
    deployment('x', { replicas: '3' }),
    'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    'a number for a text in a list',
    PODS,
    pod({ name: 1 }),
    'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
  ],
  [
    'an object for a list',
    PODS,
    named({ spec: { containers: {} } }),
    'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
  ],
  [
    'a fraction for an integer',
    DEPLOYMENTS,
    deployment('x', { replicas: 1.5 }),
    'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    'a label that is no text',
    CONFIG_MAPS,
    { metadata: { name: 'x', labels: { a: true } } },
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string',
  ],
  [
    'a quantity that is none',
    PODS,
    pod({ resources: { limits: { cpu: 'much' } } }),
    'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
  ],
  [
    'bytes that are not base64',
    `${NAMESPACE}/secrets`,
    named({ data: { a: 'a b' } }),
    'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 1',
  ],
];

describe('types of a body', () => {
  for (const [name, where, object, problem] of types) {
    it(`refuses ${name}`, async () => {
      const test = testServer();
      const status = await test.refused('POST', where, object);
      assert.deepEqual([status.code, status.reason, status.message], [400, 'BadRequest', problem]);
    });
  }
});
