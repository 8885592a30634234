// Between the installation of a kind of routes and the first look at them.
// On the embedded server only: the kind is one that is never served, and a stage on a real server waits until it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition } from '@capstan/kube';
import { install, type Played, played, routeKind } from './fixtures.ts';

const SCHEMA = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

const drained = async (stage: Played) =>
  (await stage.backend()).status?.conditions?.find(({ type }) => type === 'Drained');

test('a kind of routes that is installed and not served keeps a backend from being called drained', () =>
  played({ objects: [], installed: [] }, async (stage) => {
    const { group, version, kind } = routeKind('http-route');
    const other = `others.${group}`;
    await stage.client.create(CustomResourceDefinition, {
      apiVersion: CustomResourceDefinition.apiVersion,
      kind: 'CustomResourceDefinition',
      metadata: { name: other, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, plural: 'others', singular: 'other', listKind: 'OtherList' },
        versions: [{ name: version, served: true, storage: true, schema: SCHEMA }],
      },
    });
    await stage.setStatus('x', 'Maintenance');
    assert.equal((await drained(stage))?.status, 'True');
    // The name of its kind is taken, so that it is installed and not served.
    await install(stage.client, 'http-route');
    await stage.clock.advance(60_000);
    await stage.settle();
    const before = await drained(stage);
    assert.equal(before?.status, 'False');
    assert.equal(before.reason, 'Draining');
    assert.match(before.message ?? '', /HTTPRoute/);
    await stage.client.delete(CustomResourceDefinition, { name: `httproutes.${group}` });
    await stage.clock.advance(60_000);
    await stage.settle();
    assert.equal((await drained(stage))?.status, 'True');
  }));
