// The page of a package: each field of its runtime with the layer that set it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askReport, withReports } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import type { PackageReport, PackagesReport } from '../../src/reports/packages-report.ts';
import {
  crd,
  fakeRegistry,
  meta,
  operatorWith,
  provider,
  REGISTRY,
  revisionName,
  runtimeConfig,
  startOfStage,
} from '../fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1`;

test('the page of a package shows the winner of each field, the layers below it, and other users of its config', async () => {
  const registry = fakeRegistry();
  const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
  const container = { name: 'package-runtime', image: 'registry.example/ignored:v1', args: ['--debug'] };
  const objects = [
    runtimeConfig('mine', {
      deploymentTemplate: { spec: { replicas: 3, template: { spec: { containers: [container] } } } },
    }),
    provider('example', { package: IMAGE, runtimeConfigRef: { name: 'mine' } }),
    provider('other', { package: IMAGE, runtimeConfigRef: { name: 'mine' } }),
  ];
  const start = startOfStage();
  const stage = await createStage({
    operators: [withReports(operatorWith({ registry, settings: { now: () => start } }))],
    async given(client) {
      for (const [kind, one] of objects) await client.create(kind, one);
    },
  });
  try {
    await stage.settle();
    const { runtime } = stage.program;
    const list = await askReport(runtime, 'crossplane', 'packages', '');
    assert.equal(list.state, 'value', JSON.stringify(list));
    const { packages } = list.value as PackagesReport;
    assert.deepEqual(
      packages.map(({ kind, name, config }) => [kind, name, config]),
      [
        ['Provider', 'example', 'mine'],
        ['Provider', 'other', 'mine'],
      ],
    );
    const body = await askReport(runtime, 'crossplane', 'packages', 'Provider/example');
    assert.equal(body.state, 'value', JSON.stringify(body));
    const page = body.value as PackageReport;
    assert.deepEqual([page.revision, page.users], [revision, ['Provider other']]);
    const other = await askReport(runtime, 'crossplane', 'packages', 'Provider/other');
    assert.equal(other.state, 'value');
    const pages = [page, other.value as PackageReport];
    assert.deepEqual(
      pages.map(({ steps }) => steps.map(({ kind, key }) => `${kind.split('.')[0]} ${key}`)),
      pages.map(({ name, revision: its }) => [
        `Provider ${name}`,
        `ProviderRevision ${its}`,
        `Deployment crossplane-system/${its}`,
        `ServiceAccount crossplane-system/${its}`,
      ]),
    );
    // Both have the same definition, which only one of them may control.
    const details = pages.map(({ steps }) => steps[1]?.detail ?? '');
    assert.ok(details.every((text) => text.startsWith('Active, 1 object installed')));
    assert.ok(details.some((text) => text.includes('is already controlled by ProviderRevision')));
    assert.deepEqual(page.certificates, [
      { usage: 'server', secret: 'example-tls-server' },
      { usage: 'client', secret: 'example-tls-client' },
    ]);
    const field = (path: string) => page.fields.find((one) => one.object === 'Deployment' && one.path === path);
    const at = 'spec.template.spec.containers[package-runtime]';
    assert.deepEqual(field('spec.replicas')?.layers, { default: 1, template: 3 });
    assert.equal(field('spec.replicas')?.winner, 'template');
    assert.deepEqual(
      [field(`${at}.image`)?.winner, field(`${at}.image`)?.layers.template],
      ['package', 'registry.example/ignored:v1'],
    );
    assert.equal(field(`${at}.args[0]`)?.winner, 'template');
    assert.equal(field('spec.template.spec.securityContext.runAsNonRoot')?.winner, 'default');
    assert.ok(page.warnings.some((text) => text.includes('image has no effect')));
    assert.ok(page.fields.every(({ layers, winner }) => winner in layers));
    assert.deepEqual(await askReport(runtime, 'crossplane', 'packages', 'Provider/none'), { state: 'none' });
    assert.deepEqual(await askReport(runtime, 'crossplane', 'packages', 'Nothing/none'), { state: 'none' });
  } finally {
    await stage.end();
  }
});
