import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WatchEvent } from '@capstan/kube';
import { testServer } from '../server.test-support.ts';
import type { Table } from '../table/printer.ts';

const CORE = '/api/v1/namespaces/default/events';
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const regarding = { apiVersion: 'v1', kind: 'Pod', name: 'p', namespace: 'default' };
const event = (name: string) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.com/op',
  reportingInstance: 'op-1',
  action: 'Check',
  reason: 'Checked',
  type: 'Normal',
  note: 'all is well',
  regarding,
});

describe('the two faces of events', () => {
  it('show the same object', async () => {
    const { ok } = testServer();
    const made = await ok('POST', EVENTS, event('a'));
    assert.deepEqual([made.apiVersion, made['note']], ['events.k8s.io/v1', 'all is well']);
    const other = await ok('GET', `${CORE}/a`);
    assert.deepEqual(
      [other.apiVersion, other['message'], other['involvedObject'], other['reportingComponent'], other['note']],
      ['v1', 'all is well', regarding, 'example.com/op', undefined],
    );
    assert.equal(other.metadata.uid, made.metadata.uid);
    await ok('PATCH', `${CORE}/a`, { count: 3 }, { contentType: 'application/merge-patch+json' });
    const back = await ok('GET', `${EVENTS}/a`);
    assert.deepEqual([back['deprecatedCount'], back['note']], [3, 'all is well']);
    const changed = { series: { count: 4, lastObservedTime: '2026-01-01T00:01:00.000000Z' } };
    await ok('PATCH', `${EVENTS}/a`, changed, { contentType: 'application/merge-patch+json' });
    assert.deepEqual(((await ok('GET', `${CORE}/a`))['series'] as { count: number }).count, 4);
    await ok('DELETE', `${CORE}/a`);
    assert.deepEqual((await ok('GET', EVENTS))['items'], []);
  });

  it('are watched under both names', async () => {
    const test = testServer();
    const core = await test.watch(CORE);
    const events = await test.watch(EVENTS);
    await test.ok('POST', CORE, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'a' },
      involvedObject: regarding,
      message: 'hello',
    });
    const objectsOf = (taken: readonly WatchEvent[]) => taken.map(({ object }) => object as Record<string, unknown>);
    assert.deepEqual(
      objectsOf(await core.take()).map(({ message }) => message),
      ['hello'],
    );
    assert.deepEqual(
      objectsOf(await events.take()).map(({ note }) => note),
      ['hello'],
    );
    await core.close();
    await events.close();
  });

  it('are chosen by what they are about', async () => {
    const { ok, refused } = testServer();
    await ok('POST', EVENTS, event('a'));
    await ok('POST', EVENTS, { ...event('b'), regarding: { ...regarding, name: 'q' } });
    const names = async (path: string, fieldSelector: string) =>
      (
        (await ok('GET', path, undefined, { query: { fieldSelector } }))['items'] as { metadata: { name: string } }[]
      ).map(({ metadata }) => metadata.name);
    assert.deepEqual(await names(CORE, 'involvedObject.kind=Pod,involvedObject.name=q'), ['b']);
    assert.deepEqual(await names(EVENTS, 'regarding.name=p,reportingController=example.com/op'), ['a']);
    const refusal = await refused('GET', EVENTS, undefined, { query: { fieldSelector: 'involvedObject.name=p' } });
    assert.equal(refusal.message, 'field label not supported: involvedObject.name');
  });

  it('have the same columns', async () => {
    const { ok } = testServer();
    await ok('POST', EVENTS, event('a'));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    for (const path of [CORE, EVENTS]) {
      const table = (await ok('GET', path, undefined, { accept })) as unknown as Table;
      assert.deepEqual(table.rows[0]?.cells.slice(0, 4), ['0s', 'Normal', 'Checked', 'pod/p']);
    }
  });
});
