// The demonstration: an ingress whose ports need no rights, and a host whose Services are in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type KubeObject, Service } from '@capstan/kube';
import { parseAllDocuments } from 'yaml';
import { HTTPProxy, SesameDeployment } from '../src/kinds/index.ts';
import { HTTP_PROXY_ADMISSION } from '../src/routing/admission.ts';
import { staged } from './deployment/fixtures.ts';

const objects = ['ingress.yaml', 'store.yaml'].flatMap((file) =>
  parseAllDocuments(readFileSync(new URL(`../demo/${file}`, import.meta.url), 'utf8')).map(
    (document) => document.toJS() as KubeObject,
  ),
);
const ofKind = <T extends KubeObject>({ kind }: { kind: string }): T[] =>
  objects.filter((object) => object.kind === kind) as T[];

test('the ingress of the demonstration has a Service whose ports need no rights', async () => {
  await staged(ofKind<SesameDeployment>(SesameDeployment), async ({ client }) => {
    const service = await client.get(Service, { namespace: 'default', name: 'envoy-edge' });
    assert.equal(service.spec?.type, 'ClusterIP');
  });
});

test('the host of the demonstration is valid, and its Services are there with their ports', () => {
  const [proxy] = ofKind<HTTPProxy>(HTTPProxy);
  assert.ok(proxy);
  assert.deepEqual(HTTP_PROXY_ADMISSION.check(proxy, { list: () => [] }).errors, []);
  const served = ofKind<Service>(Service).map(({ metadata, spec }) => `${metadata.name}:${spec?.ports?.[0]?.port}`);
  const named = proxy.spec.routes?.flatMap(({ services = [] }) => services.map(({ name, port }) => `${name}:${port}`));
  assert.deepEqual(named, served);
});
