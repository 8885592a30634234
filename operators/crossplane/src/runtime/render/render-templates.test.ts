import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { normalizeRuntimeConfig } from '../normalize.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import { configOf, functionRevision, inputWith, podConfig, provider, schemas } from './render.test-support.ts';
import { renderRuntime } from './render.ts';
import { container, labels, podOf, volumeName } from './templates.test-support.ts';

test('env, volumes and mounts that the manager sets replace the template’s of the same name, with a note', () => {
  const { container, pod, notes } = podOf(
    podConfig({
      volumes: [{ name: 'tls-server-certs', emptyDir: {} }, { name: 'mine' }],
      containers: [
        {
          name: 'package-runtime',
          env: [
            { name: 'WEBHOOK_TLS_CERT_DIR', value: '/nowhere' },
            { name: 'POD_NAMESPACE', value: 'wrong' },
            { name: 'MINE', value: '$(POD_NAMESPACE)' },
          ],
          volumeMounts: [
            { name: 'mine', mountPath: '/tls/server' },
            { name: 'tls-server-certs', mountPath: '/again' },
          ],
        },
      ],
    }),
  );
  const env = container.env?.map(({ name }) => name) ?? [];
  assert.deepEqual(env.toSorted(), [...new Set(env)].toSorted());
  // In its place, so that the template's own may refer to it.
  assert.deepEqual(env.slice(0, 2), ['POD_NAMESPACE', 'MINE']);
  assert.deepEqual(container.env?.[0]?.valueFrom, { fieldRef: { fieldPath: 'metadata.namespace' } });
  assert.equal(container.env?.at(-1)?.value, '$(TLS_SERVER_CERTS_DIR)');
  assert.deepEqual(
    pod?.volumes?.map(({ name }) => name),
    ['tls-server-certs', 'mine', 'tls-client-certs'],
  );
  assert.equal(pod?.volumes?.[0]?.secret?.secretName, 'provider-example-tls-server');
  assert.deepEqual(container.volumeMounts, [
    { name: 'tls-server-certs', mountPath: '/tls/server', readOnly: true },
    { name: 'tls-server-certs', mountPath: '/again' },
    { name: 'tls-client-certs', mountPath: '/tls/client', readOnly: true },
  ]);
  assert.deepEqual(notes.map(({ message }) => /entry (\S+),/.exec(message)?.[1] ?? '').toSorted(), [
    '/tls/server',
    'POD_NAMESPACE',
    'WEBHOOK_TLS_CERT_DIR',
    'tls-server-certs',
  ]);
});

test('the package’s image and pull policy are laid over the template’s, with notes', () => {
  const config = podConfig({ containers: [{ name: 'package-runtime', image: 'mine:v1', imagePullPolicy: 'Always' }] });
  const { container, notes } = podOf(config);
  assert.equal(container.image, provider.image);
  assert.equal(container.imagePullPolicy, 'IfNotPresent');
  assert.deepEqual(
    notes.map(({ reason }) => reason),
    ['TemplateImageReplaced', 'TemplatePullPolicyReplaced'],
  );
});

test('the template’s image is kept with the annotation on the config', () => {
  const spec = {
    deploymentTemplate: {
      spec: { template: { spec: { containers: [{ name: 'package-runtime', image: 'mine:v1' }] } } },
    },
  };
  const { container, notes, deployment } = podOf(configOf(spec, { 'capstan.dev/keep-template-image': 'true' }));
  assert.equal(container.image, 'mine:v1');
  assert.deepEqual(notes, []);
  assert.equal(deployment.metadata.annotations, undefined);
});

test('pull secrets are the package’s, the ImageConfig’s and the template’s, each once', () => {
  const rendered = renderRuntime(
    inputWith({
      revision: { ...provider, pullSecrets: ['package', 'both'] },
      imageConfigPullSecret: 'image-config',
      managerPullSecrets: ['manager'],
      foundPullSecrets: ['found', 'manager'],
      config: podConfig({ imagePullSecrets: [{ name: 'both' }, { name: 'template' }] }),
    }),
  );
  assert.deepEqual(
    rendered.deployment.spec?.template.spec?.imagePullSecrets?.map(({ name }) => name),
    ['package', 'both', 'image-config', 'template'],
  );
  assert.deepEqual(
    rendered.serviceAccount?.imagePullSecrets?.map(({ name }) => name),
    ['package', 'both', 'manager', 'found'],
  );
});

test('selectors of the template have no effect', () => {
  const config = configOf({
    deploymentTemplate: {
      spec: { selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] } },
    },
  });
  const { deployment, notes } = podOf(config);
  assert.deepEqual(deployment.spec?.selector, { matchLabels: labels });
  assert.deepEqual(
    notes.map(({ reason }) => reason),
    ['TemplateSelectorReplaced'],
  );
});

test('everything else of a pod is the user’s: it arrives as it was written', () => {
  const pod = {
    affinity: { nodeAffinity: {} },
    tolerations: [{ key: 'k', operator: 'Exists' }],
    nodeSelector: { disk: 'ssd' },
    hostNetwork: true,
    priorityClassName: 'high',
    terminationGracePeriodSeconds: 5,
    initContainers: [{ name: 'init', image: 'i' }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    securityContext: { fsGroup: 7 },
  };
  const own = {
    args: ['--debug'],
    command: ['/bin/provider'],
    resources: { requests: { cpu: '100m', memory: 1024 } },
    livenessProbe: { httpGet: { path: '/', port: 'metrics' } },
    readinessProbe: { tcpSocket: { port: 8080 } },
    lifecycle: { preStop: { sleep: { seconds: 1 } } },
    envFrom: [{ secretRef: { name: 's' } }],
    securityContext: { readOnlyRootFilesystem: true },
  };
  const strategy = { type: 'Recreate' };
  const config = configOf({
    deploymentTemplate: {
      spec: {
        replicas: 0,
        strategy,
        minReadySeconds: 3,
        template: { spec: { ...pod, containers: [{ name: 'package-runtime', ...own }] } },
      },
    },
  });
  const { deployment, pod: rendered, container } = podOf(config);
  for (const [field, value] of Object.entries(pod))
    assert.deepEqual({ ...rendered }[field as 'hostNetwork'], value, field);
  for (const [field, value] of Object.entries(own)) assert.deepEqual({ ...container }[field as 'tty'], value, field);
  assert.equal(deployment.spec?.replicas, 0);
  assert.equal(deployment.spec?.minReadySeconds, 3);
  assert.deepEqual(deployment.spec?.strategy, strategy);
});

const pods = fc.record(
  {
    containers: fc.uniqueArray(container, { maxLength: 3, selector: ({ name: own }) => own }),
    volumes: fc.uniqueArray(fc.record({ name: volumeName }), { maxLength: 3, selector: ({ name: own }) => own }),
    imagePullSecrets: fc.uniqueArray(fc.record({ name: fc.constantFrom('s', 't') }), {
      maxLength: 2,
      selector: ({ name: own }) => own,
    }),
  },
  { requiredKeys: [], noNullPrototype: true },
);

test('whatever a template holds, nothing is there twice, ours is there, and the config is not changed', () => {
  fc.assert(
    fc.property(pods, fc.constantFrom(provider, functionRevision), (generated, revision) => {
      // Without the generator's own prototypes.
      const pod = JSON.parse(JSON.stringify(generated)) as typeof generated;
      const config = podConfig(pod);
      const before = structuredClone(config);
      const { container: own, pod: rendered, sidecars } = podOf(config, revision);
      assert.deepEqual(config, before);
      const keys = {
        env: own.env?.map((entry) => entry.name),
        ports: own.ports?.map(({ containerPort }) => String(containerPort)),
        mounts: own.volumeMounts?.map(({ mountPath }) => mountPath),
        volumes: rendered?.volumes?.map((entry) => entry.name),
        secrets: rendered?.imagePullSecrets?.map((entry) => entry.name ?? ''),
      };
      for (const [list, found = []] of Object.entries(keys)) assert.equal(new Set(found).size, found.length, list);
      const expected = renderRuntime(inputWith({ revision })).deployment.spec?.template.spec;
      for (const volume of expected?.volumes ?? [])
        assert.ok(rendered?.volumes?.some((one) => one.name === volume.name && one.secret));
      for (const entry of expected?.containers[0]?.env ?? [])
        assert.deepEqual(
          own.env?.find((one) => one.name === entry.name),
          entry,
        );
      assert.deepEqual(
        sidecars,
        (pod.containers ?? []).filter((one) => one.name !== 'package-runtime'),
      );
    }),
    { numRuns: 300 },
  );
});

test('a label of ours that the template sets otherwise is noted; one that it sets alike is not', () => {
  const labelled = (given: Record<string, string>) =>
    podOf(configOf({ deploymentTemplate: { spec: { template: { metadata: { labels: given } } } } }));
  const { notes, template } = labelled({ ...labels, 'pkg.crossplane.io/provider': 'mine', team: 'a' });
  assert.deepEqual(template?.metadata?.labels, { ...labels, team: 'a' });
  assert.deepEqual(
    notes.map(({ reason, message }) => [reason, /an entry pkg\.crossplane\.io\/provider, which/.test(message)]),
    [['TemplateEntryReplaced', true]],
  );
  assert.deepEqual(labelled({ ...labels, team: 'a' }).notes, []);
});

test('a path that the template mounts twice is found before the server refuses it', () => {
  const volumeMounts = [
    { name: 'a', mountPath: '/data' },
    { name: 'b', mountPath: '/data' },
  ];
  const spec = { template: { spec: { containers: [{ name: 'package-runtime', volumeMounts }] } } };
  const { errors } = normalizeRuntimeConfig(
    {
      apiVersion: 'pkg.crossplane.io/v1beta1',
      kind: 'DeploymentRuntimeConfig',
      metadata: { name: 'test' },
      spec: { deploymentTemplate: { spec } },
    },
    schemas,
  );
  assert.match(errors[0]?.message ?? '', /volumeMounts\[1\] has the mountPath of .*volumeMounts\[0\] \(\/data\)/);
});

test('one pull secret of a package is enough to be on the pod', () => {
  assert.deepEqual(podOf(EMPTY_RUNTIME_CONFIG, { ...provider, pullSecrets: ['one'] }).pod?.imagePullSecrets, [
    { name: 'one' },
  ]);
});
