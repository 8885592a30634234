import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { parse } from 'yaml';
import { effectiveConfiguration } from '../../src/configuration/index.ts';
import { SesameConfiguration, SesameDeployment } from '../../src/kinds/index.ts';

const text = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

test('the configuration of the seed is accepted as it stands, with warnings for what is not legal', () => {
  const object = parse(text('sesame-configuration.yaml')) as KubeObject & { spec: unknown };
  assert.deepEqual(SesameConfiguration.validate(object), []);
  const { errors, warnings, value } = effectiveConfiguration({ given: object.spec });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path, type }) => `${path} ${type}`),
    [
      'envoy.http.accessLog FieldNormalised',
      'envoy.https.accessLog FieldNormalised',
      'envoy.logging.jsonFields FieldIgnored',
      'envoy.managed FieldIgnored',
    ],
  );
  assert.equal(value.envoy.http.accessLog, '/dev/stdout');
  assert.equal(value.debug.logLevel, 'info');
  assert.equal(value.metrics.port, 8002);
  assert.deepEqual(value.httpproxy.rootNamespaces, ['foo', 'bar']);
  assert.equal(value.xdsServer.tls.caFile, '/certs/ca.crt');
});

test('the deployment of the seed is accepted, with the configuration in its place', () => {
  const configuration = text('sesame-configuration.yaml')
    .replace(/^[\s\S]*?spec:\n/, '')
    .replace(/status:\s*$/, '');
  const whole = text('sesame-deployment.yaml').replace(
    '    <same config as above>',
    configuration.replace(/^/gm, '  '),
  );
  const object = parse(whole) as KubeObject;
  assert.deepEqual(SesameDeployment.validate(object), []);
  const view = SesameDeployment.viewOf(object);
  assert.equal(view.spec?.replicas, 2);
  assert.equal(view.spec?.configuration?.envoy?.http?.port, 80);
});

test('the seed’s misspelling of configuration, and upstream’s names for it, are read as configuration', () => {
  for (const name of ['confguration', 'runtimeSettings', 'config']) {
    const object = {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'SesameDeployment',
      metadata: { name: 'sesame', namespace: 'projectsesame' },
      spec: { [name]: { enableExternalNameService: true } },
    };
    assert.deepEqual(SesameDeployment.validate(object), []);
    assert.equal(SesameDeployment.viewOf(object).spec?.configuration?.enableExternalNameService, true);
  }
});
