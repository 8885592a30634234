import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateDns1035Label } from '@capstan/kube';
import { defaultRuntimeConfig } from '../default-config.ts';
import { normalizeRuntimeConfig } from '../normalize.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import { configOf, functionRevision, inputWith, podConfig, provider, schemas } from './render.test-support.ts';
import { renderRuntime } from './render.ts';
import { labels, podOf } from './templates.test-support.ts';

const security = { runAsNonRoot: true, runAsUser: 2000, runAsGroup: 2000 };

const items = ['tls.crt', 'tls.key', 'ca.crt'].map((key) => ({ key, path: key }));

test('a bare Provider revision gives the whole default Deployment', () => {
  assert.deepEqual(renderRuntime(inputWith()).deployment, {
    metadata: { name: provider.name, namespace: 'crossplane-system' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          annotations: {
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': '8080',
            'prometheus.io/path': '/metrics',
          },
        },
        spec: {
          securityContext: security,
          serviceAccountName: provider.name,
          volumes: [
            { name: 'tls-client-certs', secret: { secretName: 'provider-example-tls-client', items } },
            { name: 'tls-server-certs', secret: { secretName: 'provider-example-tls-server', items } },
          ],
          containers: [
            {
              name: 'package-runtime',
              image: provider.image,
              imagePullPolicy: 'IfNotPresent',
              securityContext: { ...security, privileged: false, allowPrivilegeEscalation: false },
              ports: [
                { name: 'metrics', containerPort: 8080 },
                { name: 'webhook', containerPort: 9443 },
              ],
              env: [
                { name: 'TLS_CLIENT_CERTS_DIR', value: '/tls/client' },
                { name: 'TLS_SERVER_CERTS_DIR', value: '/tls/server' },
                { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
                {
                  name: 'PROVIDER_NAME',
                  valueFrom: { fieldRef: { fieldPath: "metadata.labels['pkg.crossplane.io/provider']" } },
                },
                {
                  name: 'REVISION_NAME',
                  valueFrom: { fieldRef: { fieldPath: "metadata.labels['pkg.crossplane.io/revision']" } },
                },
                { name: 'REVISION_UID', value: 'no-such-uid' },
                { name: 'ESS_TLS_CERTS_DIR', value: '$(TLS_CLIENT_CERTS_DIR)' },
                { name: 'WEBHOOK_TLS_CERT_DIR', value: '$(TLS_SERVER_CERTS_DIR)' },
              ],
              volumeMounts: [
                { name: 'tls-client-certs', mountPath: '/tls/client', readOnly: true },
                { name: 'tls-server-certs', mountPath: '/tls/server', readOnly: true },
              ],
            },
          ],
        },
      },
    },
  });
});

test('a Provider has a Service for its webhooks and a ServiceAccount, all called as the revision', () => {
  const { service, serviceAccount, serviceAccountName, endpoint } = renderRuntime(inputWith());
  const metadata = { name: provider.name, namespace: 'crossplane-system' };
  assert.deepEqual(service, {
    metadata,
    spec: { selector: labels, ports: [{ name: 'webhook', protocol: 'TCP', port: 9443, targetPort: 'webhook' }] },
  });
  assert.deepEqual(serviceAccount, { metadata });
  assert.equal(serviceAccountName, provider.name);
  assert.equal(endpoint, undefined);
});

test('a Function has a headless Service, an endpoint, a server certificate and no client certificate', () => {
  const { service, endpoint, deployment } = renderRuntime(inputWith({ revision: functionRevision }));
  assert.equal(service.spec?.clusterIP, 'None');
  assert.deepEqual(service.spec?.ports, [
    { name: 'grpc', protocol: 'TCP', port: 9443, targetPort: 'grpc', appProtocol: 'tls' },
  ]);
  assert.equal(endpoint, `dns:///${functionRevision.name}.crossplane-system:9443`);
  const { template } = deployment.spec ?? {};
  assert.deepEqual(
    template?.spec?.volumes?.map(({ name }) => name),
    ['tls-server-certs'],
  );
  assert.deepEqual(template?.spec?.containers[0]?.ports, [
    { name: 'metrics', containerPort: 8080 },
    { name: 'grpc', containerPort: 9443 },
  ]);
  // Functions are not scraped by default.
  assert.equal(template?.metadata?.annotations, undefined);
});

test('a runtime config sets replicas, pod labels, volumes before ours, and the port that is scraped', () => {
  const config = configOf({
    deploymentTemplate: {
      spec: {
        replicas: 3,
        template: {
          metadata: { labels: { k: 'v' } },
          spec: {
            volumes: [{ name: 'vol-a' }],
            containers: [
              {
                name: 'package-runtime',
                volumeMounts: [{ name: 'vol-a', mountPath: '/a' }],
                ports: [{ name: 'metrics', containerPort: 7070 }],
              },
            ],
          },
        },
      },
    },
  });
  const { deployment, template, container, pod } = podOf(config);
  assert.equal(deployment.spec?.replicas, 3);
  assert.deepEqual(template?.metadata?.labels, { k: 'v', ...labels });
  assert.deepEqual(
    pod?.volumes?.map(({ name }) => name),
    ['vol-a', 'tls-client-certs', 'tls-server-certs'],
  );
  assert.deepEqual(
    container.volumeMounts?.map(({ name }) => name),
    ['vol-a', 'tls-client-certs', 'tls-server-certs'],
  );
  assert.deepEqual(container.ports, [
    { name: 'metrics', containerPort: 7070 },
    { name: 'webhook', containerPort: 9443 },
  ]);
  assert.equal(template?.metadata?.annotations?.['prometheus.io/port'], '7070');
});

test('a template that says anything about scraping is taken at its word', () => {
  const config = configOf({
    deploymentTemplate: { spec: { template: { metadata: { annotations: { 'prometheus.io/scrape': 'false' } } } } },
  });
  assert.deepEqual(podOf(config).template?.metadata?.annotations, { 'prometheus.io/scrape': 'false' });
});

test('names, labels and annotations of templates are used; a sidecar that is listed first comes second; resources stay', () => {
  const resources = { limits: { cpu: '1' } };
  const config = configOf({
    deploymentTemplate: {
      metadata: { name: 'my-deploy', labels: { a: '1' }, annotations: { b: '2' } },
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'sidecar', image: 's' },
              { name: 'package-runtime', resources },
            ],
          },
        },
      },
    },
    serviceTemplate: { metadata: { name: 'my-service', labels: { c: '3' } } },
    serviceAccountTemplate: { metadata: { name: 'my-account', annotations: { d: '4' } } },
  });
  const { deployment, service, serviceAccount } = renderRuntime(inputWith({ config }));
  assert.deepEqual(deployment.metadata, {
    name: 'my-deploy',
    namespace: 'crossplane-system',
    labels: { a: '1' },
    annotations: { b: '2' },
  });
  assert.deepEqual(service.metadata, { name: 'my-service', namespace: 'crossplane-system', labels: { c: '3' } });
  assert.deepEqual(serviceAccount?.metadata, {
    name: 'my-account',
    namespace: 'crossplane-system',
    annotations: { d: '4' },
  });
  const { container, sidecars, pod } = podOf(config);
  assert.deepEqual(container.resources, resources);
  assert.deepEqual(sidecars, [{ name: 'sidecar', image: 's' }]);
  assert.equal(pod?.serviceAccountName, 'my-account');
});

test('a Deployment with a name of its own is not bound to a revision; a Service leads to the active one', () => {
  const config = configOf({
    deploymentTemplate: { metadata: { name: 'fixed' } },
    serviceTemplate: { metadata: { name: 'fixed' } },
  });
  const { deployment, service } = renderRuntime(inputWith({ config }));
  const stable = { 'pkg.crossplane.io/provider': 'provider-example' };
  assert.deepEqual(deployment.spec?.selector, { matchLabels: stable });
  assert.deepEqual(service.spec?.selector, labels);
  // The pods carry the revision all the same.
  assert.deepEqual(deployment.spec?.template.metadata?.labels, labels);
});

test('the ports of a Function are renumbered by name and never there twice', () => {
  const config = podConfig({
    containers: [
      {
        name: 'package-runtime',
        ports: [
          { name: 'grpc', containerPort: 9943 },
          { name: 'metrics', containerPort: 9080 },
        ],
      },
    ],
  });
  const { deployment, service } = renderRuntime(inputWith({ config, revision: functionRevision }));
  assert.deepEqual(deployment.spec?.template.spec?.containers[0]?.ports, [
    { name: 'grpc', containerPort: 9943 },
    { name: 'metrics', containerPort: 9080 },
  ]);
  assert.deepEqual(service.spec?.ports?.[0]?.targetPort, 'grpc');
});

test('a port that has the number under another name is used, since a number cannot be there twice', () => {
  const config = podConfig({
    containers: [{ name: 'package-runtime', ports: [{ name: 'https', containerPort: 9443 }, { containerPort: 8080 }] }],
  });
  const { deployment, service } = renderRuntime(inputWith({ config }));
  assert.deepEqual(deployment.spec?.template.spec?.containers[0]?.ports, [
    { name: 'https', containerPort: 9443 },
    { name: 'metrics', containerPort: 8080 },
  ]);
  assert.equal(service.spec?.ports?.[0]?.targetPort, 'https');
});

for (const [title, containers, wanted] of [
  ['without containers it is the only one', [], ['package-runtime']],
  ['when it is first it stays', ['package-runtime'], ['package-runtime']],
  ['when it is missing it comes first', ['other'], ['package-runtime', 'other']],
  ['in the middle it moves to the front', ['a', 'package-runtime', 'b'], ['package-runtime', 'a', 'b']],
  ['at the end it moves to the front', ['a', 'b', 'package-runtime'], ['package-runtime', 'a', 'b']],
] as const) {
  test(`the runtime container: ${title}`, () => {
    const config = podConfig({ containers: containers.map((name) => ({ name })) });
    assert.deepEqual(
      podOf(config).pod?.containers.map(({ name }) => name),
      wanted,
    );
  });
}

for (const [title, account, pod, name, isManaged] of [
  ['nothing named', undefined, undefined, provider.name, true],
  ['the template names it', 'mine', undefined, 'mine', true],
  ['the pod names another', undefined, 'theirs', 'theirs', false],
  ['both name the same', 'mine', 'mine', 'mine', true],
  ['both name different ones', 'mine', 'theirs', 'theirs', false],
] as const) {
  test(`the ServiceAccount: ${title}`, () => {
    const config = configOf({
      ...(account && { serviceAccountTemplate: { metadata: { name: account } } }),
      ...(pod && { deploymentTemplate: { spec: { template: { spec: { serviceAccountName: pod } } } } }),
    });
    const { serviceAccount, serviceAccountName, deployment } = renderRuntime(inputWith({ config }));
    assert.equal(serviceAccountName, name);
    assert.equal(deployment.spec?.template.spec?.serviceAccountName, name);
    assert.equal(serviceAccount?.metadata.name, isManaged ? name : undefined);
  });
}

test('rendering with the default config equals rendering with an empty one', () => {
  for (const stage of ['alpha', 'beta', 'GA'] as const) {
    const { config, warnings } = normalizeRuntimeConfig(defaultRuntimeConfig(stage), schemas);
    assert.deepEqual(warnings, []);
    assert.ok(config);
    for (const revision of [provider, functionRevision]) {
      assert.deepEqual(renderRuntime(inputWith({ revision, config })), renderRuntime(inputWith({ revision })));
    }
  }
});

test('a name that is too long for a label is cut there and whole for the program', () => {
  const packageName = `${'a'.repeat(80)}.example`;
  const { container, template } = podOf(EMPTY_RUNTIME_CONFIG, { ...provider, packageName });
  const label = template?.metadata?.labels?.['pkg.crossplane.io/provider'] ?? '';
  assert.ok(label.length <= 63 && label.startsWith('aaaa'));
  assert.deepEqual(
    container.env?.find(({ name }) => name === 'PROVIDER_NAME'),
    { name: 'PROVIDER_NAME', value: packageName },
  );
});

test('a Service whose revision begins with a digit gets a name that a Service may have', () => {
  const name = `3scale-${'x'.repeat(43)}-0123456789ab`;
  const { service, deployment } = renderRuntime(inputWith({ revision: { ...provider, name: '3scale-0123456789ab' } }));
  assert.equal(service.metadata.name, 'p-3scale-0123456789ab');
  assert.equal(deployment.metadata.name, '3scale-0123456789ab');
  const long = renderRuntime(inputWith({ revision: { ...provider, name } })).service.metadata.name ?? '';
  assert.deepEqual(validateDns1035Label(long), []);
});

const variables = (revision: typeof provider) =>
  podOf(EMPTY_RUNTIME_CONFIG, revision).container.env?.map(({ name }) => name);

test('a Function has its own name in its environment, and nothing that only Providers have', () => {
  assert.deepEqual(variables(functionRevision), [
    'TLS_SERVER_CERTS_DIR',
    'FUNCTION_NAME',
    'REVISION_NAME',
    'REVISION_UID',
  ]);
  const { pod, container } = podOf(EMPTY_RUNTIME_CONFIG, functionRevision);
  assert.deepEqual(
    pod?.volumes?.map(({ name }) => name),
    ['tls-server-certs'],
  );
  assert.deepEqual(
    container.ports?.map(({ name }) => name),
    ['metrics', 'grpc'],
  );
});

test('a Provider without certificates has no volumes, no mounts and no variables for them', () => {
  const { tlsServerSecretName: _server, tlsClientSecretName: _client, pullPolicy: _policy, ...bare } = provider;
  assert.deepEqual(variables(bare), ['POD_NAMESPACE', 'PROVIDER_NAME', 'REVISION_NAME', 'REVISION_UID']);
  const { pod, container } = podOf(EMPTY_RUNTIME_CONFIG, bare);
  assert.equal(pod !== undefined && ('volumes' in pod || 'imagePullSecrets' in pod), false);
  assert.equal('volumeMounts' in container, false);
  assert.equal(container.imagePullPolicy, 'IfNotPresent');
  assert.deepEqual(
    container.ports?.map(({ name }) => name),
    ['metrics'],
  );
});

test('either part of a selector is reported as replaced', () => {
  const notesOf = (selector: object) => {
    const config = { deploymentTemplate: { spec: { selector, template: {} } } };
    return podOf(
      normalizeRuntimeConfig(
        {
          apiVersion: 'pkg.crossplane.io/v1beta1',
          kind: 'DeploymentRuntimeConfig',
          metadata: { name: 'test' },
          spec: config,
        },
        schemas,
      ).config,
    ).notes.length;
  };
  assert.equal(notesOf({}), 0);
  assert.equal(notesOf({ matchLabels: { a: 'b' } }), 1);
  assert.equal(notesOf({ matchExpressions: [{ key: 'a', operator: 'Exists' }] }), 1);
});

test('a variable of the template that refers to ours is reported if it has another value', () => {
  const withVariable = (value: string) =>
    podOf(podConfig({ containers: [{ name: 'package-runtime', env: [{ name: 'WEBHOOK_TLS_CERT_DIR', value }] }] }));
  assert.deepEqual(withVariable('$(TLS_SERVER_CERTS_DIR)').notes, []);
  assert.equal(withVariable('/mine').notes.length, 1);
  const shown = withVariable('/mine').container.env?.filter(({ name }) => name === 'WEBHOOK_TLS_CERT_DIR');
  assert.deepEqual(shown, [{ name: 'WEBHOOK_TLS_CERT_DIR', value: '$(TLS_SERVER_CERTS_DIR)' }]);
});
