// Generated ControllerConfigs and the packages that use them, with names that clash with the package manager's own often
// enough to matter.
import type { JsonObject } from '@capstan/kube';
import fc from 'fast-check';

const text = fc.constantFrom('a', 'b', 'c-1');
const texts = fc.dictionary(fc.constantFrom('a', 'example.org/b', 'c'), text, { maxKeys: 3 });
const podTexts = fc.dictionary(
  fc.constantFrom('a', 'prometheus.io/scrape', 'prometheus.io/port', 'pkg.crossplane.io/revision'),
  text,
  { maxKeys: 3 },
);
const secrets = fc.array(fc.record({ name: fc.constantFrom('s1', 's2', 's3') }), { maxLength: 3 });
const policy = fc.constantFrom('Always', 'IfNotPresent', 'Never');
const port = fc.record(
  {
    name: fc.constantFrom('metrics', 'webhook', 'grpc', 'debug'),
    containerPort: fc.constantFrom(80, 7070, 8080, 9443),
    protocol: fc.constantFrom('TCP', 'UDP'),
  },
  { requiredKeys: ['containerPort'] },
);
const env = fc.record({
  name: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('A', 'B', 'C') },
    fc.constantFrom('POD_NAMESPACE', 'TLS_SERVER_CERTS_DIR', 'WEBHOOK_TLS_CERT_DIR'),
  ),
  value: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('1', 'x$(A)y', '') },
    fc.constantFrom(
      '$(POD_NAMESPACE)',
      '$(TLS_SERVER_CERTS_DIR)/x',
      '$(WEBHOOK_TLS_CERT_DIR)',
      '$(TLS_CLIENT_CERTS_DIR)',
    ),
  ),
});
const volume = fc.record({ name: fc.constantFrom('v', 'w', 'tls-server-certs', 'tls-client-certs') });
const mount = fc.record({
  name: fc.constantFrom('v', 'w'),
  mountPath: fc.constantFrom('/v', '/w', '/tls/server', '/tls/client'),
});

const spec = fc.record(
  {
    metadata: fc.record({ labels: podTexts, annotations: podTexts }, { requiredKeys: [] }),
    replicas: fc.nat(3),
    image: fc.constantFrom('registry.example.org/mine:v1', ''),
    imagePullPolicy: policy,
    imagePullSecrets: secrets,
    nodeSelector: texts,
    serviceAccountName: fc.constantFrom('account', ''),
    nodeName: text,
    podSecurityContext: fc.constantFrom({}, { runAsUser: 1 }),
    securityContext: fc.constantFrom({}, { privileged: true }),
    affinity: fc.constantFrom({}, { nodeAffinity: {} }),
    tolerations: fc.array(fc.record({ key: text, operator: fc.constant('Exists') }), { maxLength: 2 }),
    priorityClassName: text,
    runtimeClassName: text,
    resources: fc.constantFrom({}, { limits: { cpu: '1', memory: 1024 } }),
    args: fc.array(fc.constantFrom('--debug', '-x', '$(POD_NAMESPACE)'), { maxLength: 3 }),
    envFrom: fc.array(fc.record({ configMapRef: fc.record({ name: text }) }), { maxLength: 2 }),
    env: fc.array(env, { maxLength: 4 }),
    ports: fc.uniqueArray(port, {
      maxLength: 3,
      comparator: (one, other) =>
        (one.name !== undefined && one.name === other.name) || one.containerPort === other.containerPort,
    }),
    volumes: fc.uniqueArray(volume, { maxLength: 3, selector: ({ name }) => name }),
    volumeMounts: fc.uniqueArray(mount, { maxLength: 3, selector: ({ mountPath }) => mountPath }),
  },
  { requiredKeys: [] },
);

/** A ControllerConfig called `cc`. */
export const someControllerConfig: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      apiVersion: fc.constant('pkg.crossplane.io/v1alpha1'),
      kind: fc.constant('ControllerConfig'),
      metadata: fc.record({ name: fc.constant('cc'), labels: texts, annotations: texts }, { requiredKeys: ['name'] }),
      spec,
    },
    { requiredKeys: ['apiVersion', 'kind', 'metadata'] },
  )
  .map(plain);

/** One to three packages that refer to `cc`. */
export const somePackages: fc.Arbitrary<JsonObject[]> = fc
  .array(
    fc.record(
      {
        packagePullPolicy: policy,
        packagePullSecrets: secrets,
        runtimeConfigRef: fc.constant({ name: 'default' }),
        kind: fc.constantFrom('Provider', 'Function'),
      },
      { requiredKeys: ['kind'] },
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((all) =>
    all.map(({ kind, ...rest }, index) =>
      plain({
        apiVersion: 'pkg.crossplane.io/v1',
        kind,
        metadata: { name: `package-${index}` },
        spec: { package: `registry.example.org/package-${index}:v1`, ...rest, controllerConfigRef: { name: 'cc' } },
      }),
    ),
  );

/** Without the generator's prototypes. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
