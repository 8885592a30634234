import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock, type UnknownObject } from '@capstan/kube';
import { webhookServer } from '../admission/webhook-server.test-support.ts';
import { testServer } from '../server.test-support.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const at = (version: string) => `/apis/example.com/${version}/namespaces/default/houses`;

/** v1 has one text, v2 its two parts: `size: "3x4"` and `{ width: 3, height: 4 }`. */
function convert(object: UnknownObject, desired: string): UnknownObject {
  const spec = (object['spec'] ?? {}) as { size?: string; width?: number; height?: number };
  const [width = 0, height = 0] = (spec.size ?? '').split('x').map(Number);
  const made = desired === 'example.com/v1' ? { size: `${spec.width}x${spec.height}` } : { width, height };
  return { ...object, apiVersion: desired, spec: made };
}

async function houses(t: TestContext, answer?: (objects: UnknownObject[]) => object) {
  const reviews: UnknownObject[][] = [];
  const hook = await webhookServer(t, (request) => {
    const { objects, desiredAPIVersion } = request as unknown as {
      objects: UnknownObject[];
      desiredAPIVersion: string;
    };
    reviews.push(objects);
    if (answer) return answer(objects);
    return { result: { status: 'Success' }, convertedObjects: objects.map((one) => convert(one, desiredAPIVersion)) };
  });
  const server = testServer({ clock: systemClock });
  t.after(() => server.server.close());
  const version = (name: string, properties: object, storage: boolean) => ({
    name,
    served: true,
    storage,
    subresources: { status: {} },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties },
          status: { type: 'object', properties: { phase: { type: 'string' } } },
        },
      },
    },
  });
  await server.ok('POST', CRDS, {
    metadata: { name: 'houses.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'houses', kind: 'House' },
      versions: [
        version('v1', { size: { type: 'string' } }, false),
        version('v2', { width: { type: 'integer' }, height: { type: 'integer', minimum: 1 } }, true),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: hook.at('/convert'), conversionReviewVersions: ['v1'] },
      },
    },
  });
  return { server, reviews };
}

const house = (name: string, spec: object) => ({
  apiVersion: `example.com/${'size' in spec ? 'v1' : 'v2'}`,
  kind: 'House',
  metadata: { name },
  spec,
});
const MERGE = { contentType: 'application/merge-patch+json' };

test('objects are written, read, listed, patched and deleted in any version', async (t) => {
  const { server } = await houses(t);
  const created = await server.ok('POST', at('v1'), house('a', { size: '3x4' }));
  assert.deepEqual([created.apiVersion, created['spec']], ['example.com/v1', { size: '3x4' }]);
  assert.deepEqual((await server.ok('GET', `${at('v2')}/a`))['spec'], { width: 3, height: 4 });
  const changed = await server.ok('PATCH', `${at('v1')}/a`, { spec: { size: '5x6' } }, MERGE);
  assert.deepEqual(changed['spec'], { size: '5x6' });
  assert.equal(changed.metadata.generation, 2);
  await server.ok('PUT', `${at('v1')}/a/status`, { ...changed, status: { phase: 'Built' } });
  const seen = await server.ok('GET', `${at('v2')}/a`);
  assert.deepEqual([seen['spec'], seen['status']], [{ width: 5, height: 6 }, { phase: 'Built' }]);
  const applied = house('b', { size: '1x2' });
  const apply = { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'me' } };
  await server.ok('PATCH', `${at('v1')}/b`, applied, apply);
  const list = (await server.ok('GET', at('v1'))) as unknown as { items: UnknownObject[] };
  assert.deepEqual(
    list.items.map(({ spec }) => spec),
    [{ size: '5x6' }, { size: '1x2' }],
  );
  await server.ok('DELETE', `${at('v1')}/a`);
  await server.refused('GET', `${at('v2')}/a`);
});

test('a list asks for all of its objects at once, and what is known is not asked for again', async (t) => {
  const { server, reviews } = await houses(t);
  for (let index = 1; index <= 30; index += 1)
    await server.ok('POST', at('v2'), house(`h${index}`, { width: index, height: 1 }));
  assert.equal(reviews.length, 0);
  const list = (await server.ok('GET', at('v1'))) as unknown as { items: UnknownObject[] };
  assert.equal(list.items.length, 30);
  assert.equal(reviews.length, 1);
  await server.ok('GET', at('v1'));
  assert.equal(reviews.length, 1);
});

test('a watch shows every object in the version that it asks for', async (t) => {
  const { server } = await houses(t);
  await server.ok('POST', at('v2'), house('a', { width: 1, height: 2 }));
  const watch = await server.watch(at('v1'));
  const events: unknown[] = [];
  const until = async (count: number) => {
    while (events.length < count) {
      for (const { type, object } of await watch.take()) events.push([type, (object as UnknownObject)['spec']]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await until(1);
  await server.ok('PATCH', `${at('v2')}/a`, { spec: { width: 9 } }, MERGE);
  await server.ok('DELETE', `${at('v2')}/a`);
  await until(3);
  assert.deepEqual(events, [
    ['ADDED', { size: '1x2' }],
    ['MODIFIED', { size: '9x2' }],
    ['DELETED', { size: '9x2' }],
  ]);
  await watch.close();
});

test('a refusal or a wrong answer of the webhook is an error with its reason, and nothing is stored', async (t) => {
  const cases: [answer: (objects: UnknownObject[]) => object, message: RegExp][] = [
    [() => ({ result: { status: 'Failure', message: 'no such size' } }), /failed: no such size$/],
    [() => ({ result: { status: 'Success' }, convertedObjects: [] }), /returned 0 objects, expected 1$/],
    [
      (objects) => ({ result: { status: 'Success' }, convertedObjects: objects }),
      /index 0: invalid groupVersion \(required example\.com\/v2\)$/,
    ],
    [
      (objects) => ({
        result: { status: 'Success' },
        convertedObjects: objects.map((one) => ({ ...convert(one, 'example.com/v2'), metadata: { name: 'other' } })),
      }),
      /metadata\.name was changed$/,
    ],
    [() => ({ raw: 'oops', status: 500 }), /has prevented the request from succeeding$/],
  ];
  for (const [answer, message] of cases) {
    const { server } = await houses(t, answer);
    const refusal = await server.refused('POST', at('v1'), house('a', { size: '3x4' }));
    assert.equal(refusal.code, 500);
    assert.match(
      refusal.message ?? '',
      /^Internal error occurred: conversion webhook for example\.com\/v1, Kind=House failed: /,
    );
    assert.match(refusal.message ?? '', message);
    await server.refused('GET', `${at('v2')}/a`);
  }
});

test('a definition is deleted with its objects, whether or not its webhook answers', async (t) => {
  const { server } = await houses(t, () => ({ raw: '', status: 503 }));
  await server.ok('POST', at('v2'), house('a', { width: 1, height: 2 }));
  await server.ok('DELETE', `${CRDS}/houses.example.com`);
  await server.server.idle();
  await server.refused('GET', `${CRDS}/houses.example.com`);
});
