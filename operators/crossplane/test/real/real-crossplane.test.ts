// Our renderer and converter beside Crossplane's own, in the versions 1.20 and 2. Every difference is listed here with its reason; any
// other one fails.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@capstan/kube';
import { parse, stringify } from 'yaml';
import { convertFiles } from '../../src/convert/convert.ts';
import type { ControllerConfig } from '../../src/runtime/render/controller-config.ts';
import {
  configOf,
  functionRevision,
  inputWith,
  provider,
  schemas,
} from '../../src/runtime/render/render.test-support.ts';
import { type RenderedRuntime, renderRuntime } from '../../src/runtime/render/render.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../src/runtime/runtime-config.ts';
import {
  convertWith,
  renderWith,
  skip,
  type UpstreamCase,
  type UpstreamObjects,
  VERSIONS,
  type Version,
} from './crossplane.ts';

const namespace = 'crossplane-system';
const pod = (spec: object) => ({ deploymentTemplate: { spec: { selector: {}, template: { spec } } } });
const container = (fields: object) => pod({ containers: [{ name: 'package-runtime', ...fields }] });

const CASES: Readonly<Record<string, UpstreamCase>> = {
  'a bare Provider': { revision: provider, namespace },
  'a bare Function': { revision: functionRevision, namespace },
  'a Provider without certificates': {
    revision: { ...provider, tlsServerSecretName: undefined, tlsClientSecretName: undefined },
    namespace,
  },
  'an empty config': { revision: provider, namespace, config: {} },
  'arguments, resources and probes': {
    revision: provider,
    namespace,
    config: container({
      args: ['--debug', '--max-reconcile-rate=10'],
      resources: { limits: { cpu: '1', memory: '512Mi' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 8081 } },
    }),
  },
  'variables, also one of the manager’s': {
    revision: provider,
    namespace,
    config: container({
      env: [{ name: 'A', value: '1' }],
      envFrom: [{ secretRef: { name: 'more' } }],
    }),
  },
  'a sidecar before the runtime': {
    revision: provider,
    namespace,
    config: pod({
      containers: [
        { name: 'proxy', image: 'registry.example.org/proxy:v1' },
        { name: 'package-runtime', args: ['-d'] },
      ],
    }),
  },
  'volumes, mounts and placement': {
    revision: provider,
    namespace,
    config: pod({
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      priorityClassName: 'high',
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [{ name: 'package-runtime', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    }),
  },
  'security contexts': {
    revision: provider,
    namespace,
    config: pod({
      securityContext: { runAsUser: 7, fsGroup: 8 },
      containers: [{ name: 'package-runtime', securityContext: { readOnlyRootFilesystem: true } }],
    }),
  },
  'replicas, labels and annotations': {
    revision: provider,
    namespace,
    config: {
      deploymentTemplate: {
        metadata: { labels: { team: 'a' }, annotations: { note: 'b' } },
        spec: {
          replicas: 3,
          selector: {},
          strategy: { type: 'Recreate' },
          template: { metadata: { labels: { pod: 'c' }, annotations: { 'prometheus.io/scrape': 'false' } } },
        },
      },
      serviceTemplate: { metadata: { labels: { service: 'd' }, annotations: { e: 'f' } } },
      serviceAccountTemplate: { metadata: { annotations: { role: 'g' } } },
    },
  },
  'ports with other numbers': {
    revision: provider,
    namespace,
    config: container({ ports: [{ name: 'debug', containerPort: 6060 }] }),
  },
  'an account of its own name, and one of another owner': {
    revision: functionRevision,
    namespace,
    config: {
      ...pod({ serviceAccountName: 'theirs' }),
      serviceAccountTemplate: { metadata: { name: 'ours' } },
    },
  },
  'pull secrets of the package, the manager and an ImageConfig': {
    revision: { ...provider, pullSecrets: ['own'] },
    namespace,
    managerPullSecrets: ['manager'],
    imageConfigPullSecret: 'image-config',
  },
  'the pull policy of the package': { revision: { ...provider, pullPolicy: 'Always' }, namespace },
};

for (const version of VERSIONS)
  test(`objects are those that Crossplane ${version} renders, but for the differences that are listed`, {
    skip,
  }, () => {
    const theirs = renderWith(version, Object.values(CASES));
    const different: string[] = [];
    for (const [at, [name, one]] of Object.entries(CASES).entries()) {
      const { config, controllerConfig: _none, ...rest } = one;
      const ours = renderRuntime(
        inputWith({ ...rest, config: config === undefined ? EMPTY_RUNTIME_CONFIG : configOf(config) }),
      );
      try {
        assert.deepEqual(ofOurs(ours, version, one.revision), ofTheirs(theirs[at] as UpstreamObjects));
      } catch (error) {
        different.push(`${name}: ${(error as Error).message}`);
      }
    }
    assert.deepEqual(different, []);
  });

/** A ControllerConfig as a user of 1.20 has it, with most of its fields. */
const CONTROLLER_CONFIG: JsonObject = {
  apiVersion: 'pkg.crossplane.io/v1alpha1',
  kind: 'ControllerConfig',
  metadata: { name: 'cc', labels: { team: 'a' }, annotations: { note: 'b' } },
  spec: {
    metadata: { labels: { pod: 'c' }, annotations: { 'prometheus.io/scrape': 'false' } },
    replicas: 2,
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    priorityClassName: 'high',
    podSecurityContext: { fsGroup: 8 },
    securityContext: { readOnlyRootFilesystem: true },
    resources: { limits: { cpu: '1', memory: '512Mi' } },
    args: ['--debug'],
    env: [{ name: 'A', value: '1' }],
    envFrom: [{ secretRef: { name: 'more' } }],
    volumes: [{ name: 'data', emptyDir: {} }],
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  },
};

test('a ControllerConfig gives the objects that Crossplane 1.20 renders with it', { skip }, () => {
  const [theirs] = renderWith('v1', [{ revision: provider, namespace, controllerConfig: CONTROLLER_CONFIG }]);
  const ours = renderRuntime(inputWith({ controllerConfig: CONTROLLER_CONFIG as unknown as ControllerConfig }));
  assert.deepEqual(ofOurs(ours, 'v1'), ofTheirs(theirs as UpstreamObjects));
});

test('version 1.20 renders a ControllerConfig and the config that we convert it to alike', { skip }, () => {
  const { texts } = convertFiles([{ name: 'cc.yaml', text: stringify(CONTROLLER_CONFIG) }], { schemas });
  const { spec } = parse(texts[0] ?? '') as { spec: object };
  const [before, after] = renderWith('v1', [
    { revision: provider, namespace, controllerConfig: CONTROLLER_CONFIG },
    { revision: provider, namespace, config: spec },
  ]);
  assert.deepEqual(ofTheirs(after as UpstreamObjects), ofTheirs(before as UpstreamObjects));
});

test('the converter of 1.20 writes the config that ours writes, and metadata of a Service that 1.20 itself never rendered', {
  skip,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-real-crossplane-'));
  try {
    const path = join(folder, 'cc.yaml');
    writeFileSync(path, stringify(CONTROLLER_CONFIG));
    const theirs = plain(parse(convertWith(path))) as { spec: object };
    const { texts } = convertFiles([{ name: 'cc.yaml', text: stringify(CONTROLLER_CONFIG) }], { schemas });
    const ours = plain(parse(texts[0] ?? '')) as { spec: object };
    // Crossplane never rendered the metadata of a ControllerConfig into a Service, so a conversion that adds it changes the Service.
    assert.deepEqual(
      { ...ours.spec, serviceTemplate: { metadata: { labels: { team: 'a' }, annotations: { note: 'b' } } } },
      theirs.spec,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * The differences that are meant. The seed names the Service after the revision, where Crossplane names it after the package. Variables
 * with the names of package and revision came with version 2, and the protocol of a Function's port after 2.0.
 */
const VARIABLES_OF_V2 = ['PROVIDER_NAME', 'FUNCTION_NAME', 'REVISION_NAME', 'REVISION_UID'];

function ofOurs(
  { deployment, service, serviceAccount }: RenderedRuntime,
  version: Version,
  { packageName, name } = provider,
): unknown {
  const unknown = version === 'v1' ? VARIABLES_OF_V2 : [];
  const { template } = deployment.spec ?? {};
  const containers = template?.spec?.containers.map((one) => ({
    ...one,
    ...(one.env && { env: one.env.filter((variable) => !unknown.includes(variable.name)) }),
  }));
  const ports = service.spec?.ports?.map(({ appProtocol: _tls, ...port }) => port);
  const isNamedAfterRevision = service.metadata.name === name;
  return comparable({
    deployment: {
      ...deployment,
      spec: { ...deployment.spec, template: { ...template, spec: { ...template?.spec, containers } } },
    },
    service: {
      ...service,
      metadata: { ...service.metadata, ...(isNamedAfterRevision && { name: packageName }) },
      spec: { ...service.spec, ports },
    },
    serviceAccount,
  });
}

function ofTheirs(objects: UpstreamObjects): unknown {
  return comparable({ ...objects });
}

function comparable(objects: object): unknown {
  return plain(JSON.parse(JSON.stringify(objects)));
}

/** Removes values without meaning, and sorts lists of named entries by name: their order has no meaning either. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(plain);
    const isNamed = items.every((item) => isJsonObject(item) && typeof item['name'] === 'string');
    return isNamed ? Object.fromEntries(items.map((item) => [(item as JsonObject)['name'], item])) : items;
  }
  if (!isJsonObject(value)) return value;
  const parts = Object.entries(value)
    .filter(([key]) => !['ownerReferences', 'creationTimestamp', 'status', 'apiVersion', 'kind'].includes(key))
    .map(([key, part]) => [key, plain(part)] as const);
  return Object.fromEntries(parts.filter(([, part]) => !isEmpty(part)));
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
}
