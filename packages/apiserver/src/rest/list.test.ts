import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import {
  CONFIG_MAPS,
  configMap,
  DEPLOYMENTS,
  deployment,
  type TestServer,
  testServer,
} from '../server.test-support.ts';
import type { ObjectList } from './render.ts';

const MERGE = { contentType: 'application/merge-patch+json' };

async function list({ ok }: TestServer, query: Record<string, string> = {}, path = CONFIG_MAPS): Promise<ObjectList> {
  return (await ok('GET', path, undefined, { query })) as unknown as ObjectList;
}

const names = (page: ObjectList) => page.items.map((one) => one.metadata.name);

async function filled(count: number): Promise<TestServer> {
  const test = testServer();
  for (let index = 0; index < count; index += 1) {
    const labels = { parity: index % 2 === 0 ? 'even' : 'odd' };
    await test.ok('POST', CONFIG_MAPS, configMap(`cm-${String(index).padStart(2, '0')}`, {}, { labels }));
  }
  return test;
}

describe('list', () => {
  it('shows objects in key order, of one namespace or of all', async () => {
    const test = testServer();
    for (const name of ['b', 'a', 'c']) await test.ok('POST', CONFIG_MAPS, configMap(name));
    await test.ok('POST', '/api/v1/namespaces/kube-system/configmaps', configMap('x'));
    assert.deepEqual(names(await list(test)), ['a', 'b', 'c']);
    const all = await list(test, {}, '/api/v1/configmaps');
    assert.deepEqual(names(all), ['a', 'b', 'c', 'x']);
    assert.equal(all.kind, 'ConfigMapList');
    assert.equal(all.metadata.resourceVersion, String(test.server.revision));
  });

  it('chooses by labels and by fields', async () => {
    const test = await filled(6);
    assert.deepEqual(names(await list(test, { labelSelector: 'parity=odd' })), ['cm-01', 'cm-03', 'cm-05']);
    assert.deepEqual(
      names(await list(test, { labelSelector: 'parity in (even)', fieldSelector: 'metadata.name!=cm-00' })),
      ['cm-02', 'cm-04'],
    );
    assert.deepEqual(names(await list(test, { fieldSelector: 'metadata.name=cm-03' })), ['cm-03']);
    const status = await test.refused('GET', CONFIG_MAPS, undefined, { query: { fieldSelector: 'data.x=1' } });
    assert.equal(status.message, '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"');
    assert.equal((await test.refused('GET', CONFIG_MAPS, undefined, { query: { labelSelector: 'a in b' } })).code, 400);
  });

  it('selects events by what they are about', async () => {
    const test = testServer();
    const event = (name: string, involved: string) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject: { kind: 'Pod', name: involved },
      reason: 'Started',
    });
    const path = '/api/v1/namespaces/default/events';
    await test.ok('POST', path, event('a', 'one'));
    await test.ok('POST', path, event('b', 'two'));
    assert.deepEqual(
      names(await list(test, { fieldSelector: 'involvedObject.kind=Pod,involvedObject.name=two' }, path)),
      ['b'],
    );
  });

  it('pages through one revision whatever happens meanwhile', async () => {
    const test = await filled(7);
    const first = await list(test, { limit: '3' });
    assert.deepEqual(names(first), ['cm-00', 'cm-01', 'cm-02']);
    assert.equal(first.metadata.remainingItemCount, 4);
    await test.ok('DELETE', `${CONFIG_MAPS}/cm-04`);
    await test.ok('POST', CONFIG_MAPS, configMap('cm-03a'));
    await test.ok('PATCH', `${CONFIG_MAPS}/cm-05`, { data: { changed: 'yes' } }, MERGE);
    const second = await list(test, { limit: '3', continue: first.metadata.continue ?? '' });
    assert.deepEqual(names(second), ['cm-03', 'cm-04', 'cm-05']);
    assert.deepEqual(second.items[2]?.['data'], undefined);
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    const third = await list(test, { limit: '3', continue: second.metadata.continue ?? '' });
    assert.deepEqual(names(third), ['cm-06']);
    assert.equal(third.metadata.continue, undefined);
  });

  it('answers 410 with a token to go on inconsistently when the revision is forgotten', async () => {
    const test = await filled(4);
    const first = await list(test, { limit: '2' });
    await test.ok('DELETE', `${CONFIG_MAPS}/cm-03`);
    test.server.compact(test.server.revision);
    const query = { limit: '2', continue: first.metadata.continue ?? '' };
    const status = await test.refused('GET', CONFIG_MAPS, undefined, { query });
    assert.equal(status.code, 410);
    assert.equal(status.reason, 'Expired');
    const rest = await list(test, { continue: status.metadata.continue ?? '' });
    assert.deepEqual(names(rest), ['cm-02']);
    assert.equal((await test.refused('GET', CONFIG_MAPS, undefined, { query: { continue: 'nonsense' } })).code, 400);
  });

  it('reads a revision exactly, at least, or refuses one that is not there', async () => {
    const test = await filled(2);
    const before = String(test.server.revision);
    await test.ok('DELETE', `${CONFIG_MAPS}/cm-00`);
    const exact = await list(test, { resourceVersion: before, resourceVersionMatch: 'Exact' });
    assert.deepEqual(names(exact), ['cm-00', 'cm-01']);
    assert.equal(exact.metadata.resourceVersion, before);
    const atLeast = await list(test, { resourceVersion: before });
    assert.deepEqual(names(atLeast), ['cm-01']);
    assert.deepEqual(names(await list(test, { resourceVersion: '0', limit: '1' })), ['cm-01']);
    const answer = await test.send('GET', CONFIG_MAPS, undefined, { query: { resourceVersion: '9999' } });
    assert.equal(answer.status, 504);
    assert.equal(answer.headers['retry-after'], '1');
    assert.match((answer.body as { message: string }).message, /Too large resource version: 9999, current: \d+/);
    assert.equal(
      (await test.refused('GET', `${CONFIG_MAPS}/cm-01`, undefined, { query: { resourceVersion: '9999' } })).code,
      504,
    );
    const match = await test.refused('GET', CONFIG_MAPS, undefined, { query: { resourceVersionMatch: 'Exact' } });
    assert.match(match.message ?? '', /resourceVersionMatch is forbidden unless resourceVersion is provided/);
    test.server.compact(test.server.revision);
    const old = await test.refused('GET', CONFIG_MAPS, undefined, {
      query: { resourceVersion: before, resourceVersionMatch: 'Exact' },
    });
    assert.equal(old.message, 'The resourceVersion for the provided list is too old.');
  });

  it('gives metadata only when asked for it', async () => {
    const test = testServer();
    await test.ok('POST', DEPLOYMENTS, deployment('web'));
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';
    const answer = (await test.ok('GET', DEPLOYMENTS, undefined, { accept })) as unknown as ObjectList;
    assert.equal(answer.kind, 'PartialObjectMetadataList');
    assert.equal(answer.apiVersion, 'meta.k8s.io/v1');
    assert.deepEqual(Object.keys(answer.items[0] as UnknownObject).sort(), ['apiVersion', 'kind', 'metadata']);
    const one = await test.ok('GET', `${DEPLOYMENTS}/web`, undefined, {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    assert.equal(one.kind, 'PartialObjectMetadata');
  });
});
