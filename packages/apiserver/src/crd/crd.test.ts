import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { CRDS, definition, settle, testServer, WIDGETS, widget } from '../server.test-support.ts';

const MERGE = { contentType: 'application/merge-patch+json' };
const conditions = (object: UnknownObject) =>
  Object.fromEntries(
    (object['status'] as { conditions: { type: string; status: string; reason: string }[] }).conditions.map((one) => [
      one.type,
      `${one.status} ${one.reason}`,
    ]),
  );

describe('custom resource definitions', () => {
  it('are served as soon as they are accepted', async () => {
    const { ok, send } = testServer();
    const missing = await send('GET', WIDGETS);
    assert.deepEqual([missing.status, missing.body], [404, '404 page not found\n']);
    const created = await ok('POST', CRDS, definition());
    assert.deepEqual(created['status'], {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: ['v1'],
    });
    await settle();
    const crd = await ok('GET', `${CRDS}/widgets.example.com`);
    assert.deepEqual(conditions(crd), {
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
    });
    assert.deepEqual((crd['status'] as { storedVersions: string[] }).storedVersions, ['v1']);
    const made = await ok('POST', WIDGETS, widget('a', { size: 1 }));
    assert.equal(made.metadata.generation, 1);
    assert.equal((await ok('GET', WIDGETS)).kind, 'WidgetList');
  });

  it('let a status be cleared, by a patch and by a PUT without one', async () => {
    const { ok } = testServer();
    await ok('POST', CRDS, definition());
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    const set = () => ok('PATCH', `${WIDGETS}/a/status`, { status: { ready: 1 } }, MERGE);
    assert.deepEqual((await set())['status'], { ready: 1 });
    const merged = await ok('PATCH', `${WIDGETS}/a/status`, { status: null }, MERGE);
    assert.equal('status' in merged, false);
    await set();
    const removed = [{ op: 'remove', path: '/status' }];
    await ok('PATCH', `${WIDGETS}/a/status`, removed, { contentType: 'application/json-patch+json' });
    const { status: _, ...bare } = await set();
    assert.equal('status' in (await ok('PUT', `${WIDGETS}/a/status`, bare)), false);
    assert.equal('status' in (await ok('GET', `${WIDGETS}/a`)), false);
  });

  it('are refused with the path of a status that is no object', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CRDS, definition());
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    const { details } = await refused('PATCH', `${WIDGETS}/a/status`, { status: 'x' }, MERGE);
    assert.ok(
      details?.causes?.some(({ field }) => field === 'status'),
      JSON.stringify(details?.causes),
    );
    assert.ok(!details?.causes?.some(({ field = '' }) => field.includes('<nil>.') || field === 'status.<nil>'));
  });

  it('are refused where a CEL entry has no rule, or is null', async () => {
    const { refused } = testServer();
    for (const rules of [[{ message: 'no rule' }], [{}], [null], [{ rule: ' ' }]]) {
      const written = definition({ spec: { type: 'object', 'x-kubernetes-validations': rules } });
      const { code, message } = await refused('POST', CRDS, written);
      assert.equal(code, 422);
      assert.match(message ?? '', /x-kubernetes-validations\[0\]\.rule: Required value: rule is not specified/);
    }
  });

  it('prune what they do not know and fill in defaults', async () => {
    const { ok, send, refused } = testServer();
    await ok('POST', CRDS, definition());
    const answer = await send('POST', WIDGETS, widget('a', { size: 1, colour: 'red' }));
    assert.deepEqual((answer.body as UnknownObject)['spec'], { size: 1, mode: 'Auto' });
    assert.equal(answer.headers['warning'], '299 - "unknown field \\"spec.colour\\""');
    const query = { fieldValidation: 'Strict' };
    const strict = await refused('POST', WIDGETS, widget('b', { size: 1, colour: 'red' }), { query });
    assert.equal(
      strict.message,
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.colour"',
    );
  });

  it('refuse what breaks the schema, with a cause for each field', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CRDS, definition());
    const status = await refused('POST', WIDGETS, widget('a', { size: -1, mode: 'Odd' }));
    assert.equal(status.code, 422);
    assert.match(status.message ?? '', /^Widget\.example\.com "a" is invalid: \[spec\.size: Invalid value: -1: /);
    assert.deepEqual(status.details?.causes?.map(({ field, reason }) => `${field} ${reason}`).sort(), [
      '.spec.size FieldValueInvalid',
      'spec.mode FieldValueNotSupported',
      'spec.size FieldValueInvalid',
    ]);
    assert.match(
      status.details?.causes?.find((one) => one.field === 'spec.size')?.message ?? '',
      /^Invalid value: -1: /,
    );
  });

  it('need a resourceVersion for PUT', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CRDS, definition());
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    const status = await refused('PUT', `${WIDGETS}/a`, widget('a', { size: 2 }));
    assert.match(status.message ?? '', /metadata\.resourceVersion: Invalid value: .*: must be specified for an update/);
  });

  it('have status and scale as subresources', async () => {
    const { ok } = testServer();
    await ok('POST', CRDS, definition());
    const made = await ok('POST', WIDGETS, { ...widget('a', { size: 1 }), status: { ready: 9 } });
    assert.equal(made['status'], undefined);
    const status = await ok('PATCH', `${WIDGETS}/a/status`, { spec: { size: 5 }, status: { ready: 1 } }, MERGE);
    assert.deepEqual([status['spec'], status['status']], [{ size: 1, mode: 'Auto' }, { ready: 1 }]);
    assert.equal(status.metadata.generation, 1);
    await ok('PATCH', `${WIDGETS}/a/scale`, { spec: { replicas: 7 } }, MERGE);
    assert.deepEqual((await ok('GET', `${WIDGETS}/a`))['spec'], { size: 7, mode: 'Auto' });
  });

  it('serve several versions of the same objects', async () => {
    const { ok, send, watch } = testServer();
    const base = definition();
    const [v1] = base.spec.versions;
    const old = { ...v1, name: 'v1beta1', storage: false, deprecated: true };
    await ok('POST', CRDS, { ...base, spec: { ...base.spec, versions: [v1, old] } });
    const beta = WIDGETS.replace('/v1/', '/v1beta1/');
    const watching = await watch(beta);
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    const answer = await send('GET', `${beta}/a`);
    assert.equal((answer.body as UnknownObject).apiVersion, 'example.com/v1beta1');
    assert.equal(
      answer.headers['warning'],
      '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"',
    );
    await ok('POST', beta, { ...widget('b', { size: 2 }), apiVersion: 'example.com/v1beta1' });
    assert.equal((await ok('GET', `${WIDGETS}/b`)).apiVersion, 'example.com/v1');
    const seen = await watching.take();
    assert.deepEqual(
      seen.map((event) => (event.object as UnknownObject).apiVersion),
      ['example.com/v1beta1', 'example.com/v1beta1'],
    );
    await watching.close();
  });

  it('change what is served when they change', async () => {
    const { ok } = testServer();
    await ok('POST', CRDS, definition());
    await ok(
      'PATCH',
      `${CRDS}/widgets.example.com`,
      [
        {
          op: 'add',
          path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour',
          value: { type: 'string' },
        },
      ],
      {
        contentType: 'application/json-patch+json',
      },
    );
    assert.deepEqual((await ok('POST', WIDGETS, widget('a', { size: 1, colour: 'red' })))['spec'], {
      size: 1,
      colour: 'red',
      mode: 'Auto',
    });
  });

  it('are refused when they are wrong, and not accepted when their names are taken', async () => {
    const { ok, refused, send } = testServer();
    const wrong = await refused('POST', CRDS, { ...definition(), metadata: { name: 'other.example.com' } });
    assert.match(wrong.message ?? '', /must be spec\.names\.plural\+"\."\+spec\.group/);
    const webhook = definition();
    const status = await refused('POST', CRDS, {
      ...webhook,
      spec: { ...webhook.spec, conversion: { strategy: 'Webhook' } },
    });
    assert.match(status.message ?? '', /spec\.conversion\.webhookClientConfig: Required value: required when strategy/);
    await ok('POST', CRDS, definition());
    const again = definition();
    const names = { ...again.spec.names, plural: 'gadgets', singular: 'gadget', shortNames: [] };
    await ok('POST', CRDS, {
      ...again,
      metadata: { name: 'gadgets.example.com' },
      spec: { ...again.spec, names },
    });
    await settle();
    const taken = await ok('GET', `${CRDS}/gadgets.example.com`);
    // The last name that was refused is reported.
    assert.deepEqual(conditions(taken), { NamesAccepted: 'False ListKindConflict', Established: 'False NotAccepted' });
    assert.equal((await send('GET', '/apis/example.com/v1/gadgets')).status, 404);
    await ok('DELETE', `${CRDS}/widgets.example.com`);
    await settle();
    const freed = await ok('GET', `${CRDS}/gadgets.example.com`);
    assert.deepEqual(conditions(freed), {
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
    });
  });

  it('take their objects with them, after their finalizers', async () => {
    const { ok, refused, send, server, watch } = testServer();
    await ok('POST', CRDS, definition());
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    await ok('POST', WIDGETS, {
      ...widget('b', { size: 1 }),
      metadata: { name: 'b', finalizers: ['example.com/hold'] },
    });
    const watching = await watch(WIDGETS);
    await ok('DELETE', `${CRDS}/widgets.example.com`);
    await server.idle();
    assert.equal((await refused('GET', `${WIDGETS}/a`)).code, 404);
    const create = await refused('POST', WIDGETS, widget('c', { size: 1 }));
    assert.match(create.message ?? '', /create not allowed while custom resource definition is terminating/);
    await ok('PATCH', `${WIDGETS}/b`, { metadata: { finalizers: null } }, MERGE);
    await server.idle();
    assert.equal((await refused('GET', `${CRDS}/widgets.example.com`)).code, 404);
    assert.equal((await send('GET', WIDGETS)).body, '404 page not found\n');
    await settle();
    assert.equal(watching.ended, true);
  });

  it('go at once when a client has removed their conditions, by which they are no longer served', async () => {
    const { ok, refused, server } = testServer();
    await ok('POST', CRDS, definition());
    await server.idle();
    await ok('POST', WIDGETS, widget('a', { size: 1 }));
    const path = `${CRDS}/widgets.example.com`;
    await ok('PATCH', `${path}/status`, { status: { conditions: null } }, MERGE);
    await ok('DELETE', path);
    await server.idle();
    assert.equal((await refused('GET', path)).code, 404);
  });

  it('gives what was stored before there was a default that default, when it is read', async () => {
    const test = testServer();
    await test.ok('POST', CRDS, definition());
    await test.server.idle();
    await test.ok('POST', WIDGETS, widget('w', { size: 1 }));
    const crd = await test.ok('GET', `${CRDS}/widgets.example.com`);
    const changed = definition({ colour: { type: 'string', default: 'blue' } });
    await test.ok('PUT', `${CRDS}/widgets.example.com`, { ...changed, metadata: crd.metadata });
    await test.server.idle();
    const read = await test.ok('GET', `${WIDGETS}/w`);
    assert.equal((read['spec'] as { colour?: string }).colour, 'blue');
    const list = (await test.ok('GET', WIDGETS))['items'] as { spec: { colour?: string } }[];
    assert.equal(list[0]?.spec.colour, 'blue');
  });

  it('have the version that is stored when a client removes their status', async () => {
    const test = testServer();
    await test.ok('POST', CRDS, definition());
    await test.server.idle();
    const removed = await test.ok('PATCH', `${CRDS}/widgets.example.com/status`, { status: null }, MERGE);
    assert.deepEqual(removed['status'], {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: ['v1'],
    });
  });
});
