import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerConfig } from './controller-config.ts';
import { functionRevision, inputWith, provider } from './render.test-support.ts';
import { renderRuntime } from './render.ts';

function renderWith(spec: ControllerConfig['spec'], metadata: ControllerConfig['metadata'] = {}, revision = provider) {
  return renderRuntime(inputWith({ revision, controllerConfig: { metadata, ...(spec && { spec }) } }));
}

test('an empty ControllerConfig changes nothing', () => {
  assert.deepEqual(renderWith({}), renderRuntime(inputWith()));
  assert.deepEqual(renderWith(undefined), renderRuntime(inputWith()));
  assert.deepEqual(renderWith({ args: [], tolerations: [], nodeSelector: {} }), renderRuntime(inputWith()));
});

test('replicas, image, scheduling and security are the ControllerConfig’s; volumes are added', () => {
  for (const revision of [provider, functionRevision]) {
    const { deployment } = renderWith(
      {
        replicas: 3,
        image: 'mine:v1',
        imagePullPolicy: 'Always',
        imagePullSecrets: [{ name: 's' }],
        nodeSelector: { disk: 'ssd' },
        nodeName: 'n',
        podSecurityContext: { fsGroup: 1 },
        securityContext: { privileged: true },
        affinity: {},
        tolerations: [{ key: 'k' }],
        priorityClassName: 'p',
        runtimeClassName: 'r',
        resources: { limits: { cpu: '1' } },
        args: ['-d'],
        envFrom: [{ configMapRef: { name: 'c' } }],
        volumes: [{ name: 'vol-a' }],
        volumeMounts: [{ name: 'vol-a', mountPath: '/a' }],
      },
      {},
      revision,
    );
    const pod = deployment.spec?.template.spec;
    const [container] = pod?.containers ?? [];
    assert.equal(deployment.spec?.replicas, 3);
    assert.deepEqual(
      { ...pod, containers: undefined, volumes: pod?.volumes?.map(({ name }) => name).at(-1) },
      {
        containers: undefined,
        volumes: 'vol-a',
        serviceAccountName: revision.name,
        imagePullSecrets: [{ name: 's' }],
        nodeSelector: { disk: 'ssd' },
        nodeName: 'n',
        securityContext: { fsGroup: 1 },
        affinity: {},
        tolerations: [{ key: 'k' }],
        priorityClassName: 'p',
        runtimeClassName: 'r',
      },
    );
    assert.equal(container?.image, 'mine:v1');
    assert.equal(container?.imagePullPolicy, 'Always');
    assert.deepEqual(container?.args, ['-d']);
    assert.deepEqual(container?.securityContext, { privileged: true });
    assert.deepEqual(container?.resources, { limits: { cpu: '1' } });
    assert.deepEqual(container?.envFrom, [{ configMapRef: { name: 'c' } }]);
    assert.equal(container?.volumeMounts?.at(-1)?.name, 'vol-a');
    assert.ok((container?.volumeMounts?.length ?? 0) > 1);
  }
});

test('its own labels and annotations go to the Deployment and the ServiceAccount, not to the Service', () => {
  const metadata = {
    name: 'cc',
    labels: { a: '1' },
    annotations: { b: '2', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
  };
  const { deployment, service, serviceAccount } = renderWith({}, metadata);
  for (const object of [deployment, serviceAccount]) {
    assert.deepEqual(object?.metadata.labels, { a: '1' });
    assert.deepEqual(object?.metadata.annotations, { b: '2' });
  }
  assert.equal(service.metadata.labels, undefined);
});

test('metadata in the spec replaces the pods’ annotations and never the labels that select them', () => {
  const { deployment } = renderWith({ metadata: { labels: { a: '1', 'pkg.crossplane.io/revision': 'wrong' } } });
  const { metadata } = deployment.spec?.template ?? {};
  assert.equal(metadata?.annotations, undefined);
  assert.equal(metadata?.labels?.['a'], '1');
  assert.equal(metadata?.labels?.['pkg.crossplane.io/revision'], provider.name);
});

test('ports are replaced as a whole; env of the same name wins', () => {
  const { deployment } = renderWith({
    ports: [{ name: 'only', containerPort: 1 }],
    env: [
      { name: 'POD_NAMESPACE', value: 'mine' },
      { name: 'A', value: '1' },
    ],
  });
  const [container] = deployment.spec?.template.spec?.containers ?? [];
  assert.deepEqual(container?.ports, [{ name: 'only', containerPort: 1 }]);
  assert.deepEqual(
    container?.env?.find(({ name }) => name === 'POD_NAMESPACE'),
    { name: 'POD_NAMESPACE', value: 'mine' },
  );
  assert.deepEqual(container?.env?.at(-1), { name: 'A', value: '1' });
});

test('a named ServiceAccount is made and used', () => {
  const { deployment, serviceAccount, serviceAccountName } = renderWith({ serviceAccountName: 'mine' });
  assert.equal(deployment.spec?.template.spec?.serviceAccountName, 'mine');
  assert.equal(serviceAccount?.metadata.name, 'mine');
  assert.equal(serviceAccountName, 'mine');
});
