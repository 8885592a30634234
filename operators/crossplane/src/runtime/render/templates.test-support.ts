import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import { inputWith, provider } from './render.test-support.ts';
import { renderRuntime } from './render.ts';

export const labels = {
  'pkg.crossplane.io/revision': 'provider-example-1234567890ab',
  'pkg.crossplane.io/provider': 'provider-example',
};

export function podOf(config: RuntimeConfig = EMPTY_RUNTIME_CONFIG, revision = provider) {
  const { deployment, notes } = renderRuntime(inputWith({ config, revision }));
  const template = deployment.spec?.template;
  const [container, ...sidecars] = template?.spec?.containers ?? [];
  assert.ok(container);
  return { deployment, notes, template, pod: template?.spec, container, sidecars };
}

export const name = fc.constantFrom('a', 'b', 'POD_NAMESPACE', 'WEBHOOK_TLS_CERT_DIR', 'TLS_SERVER_CERTS_DIR');

export const volumeName = fc.constantFrom('a', 'b', 'tls-server-certs', 'tls-client-certs');

export const container = fc.record(
  {
    name: fc.constantFrom('package-runtime', 'x', 'y'),
    env: fc.uniqueArray(fc.record({ name, value: fc.constantFrom('1', '2', '$(a)') }), {
      maxLength: 4,
      selector: ({ name: own }) => own,
    }),
    ports: fc.uniqueArray(
      fc.record(
        { name: fc.constantFrom('metrics', 'webhook', 'grpc', 'p'), containerPort: fc.constantFrom(80, 8080, 9443) },
        { requiredKeys: ['containerPort'] },
      ),
      { maxLength: 3, selector: ({ containerPort }) => containerPort },
    ),
    volumeMounts: fc.uniqueArray(
      fc.record({ name: volumeName, mountPath: fc.constantFrom('/a', '/tls/server', '/tls/client') }),
      { maxLength: 3, selector: ({ mountPath }) => mountPath },
    ),
  },
  { requiredKeys: ['name'], noNullPrototype: true },
);
