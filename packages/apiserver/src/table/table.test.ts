import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONFIG_MAPS, CRDS, configMap, definition, testServer, WIDGETS, widget } from '../server.test-support.ts';
import type { Table } from './printer.ts';

const ACCEPT =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json';

describe('answers as a Table', () => {
  it('gives a list as columns and rows, each with the metadata of its object', async () => {
    const test = testServer();
    await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    const table = (await test.ok('GET', CONFIG_MAPS, undefined, { accept: ACCEPT })) as unknown as Table;
    assert.equal(table.kind, 'Table');
    assert.equal(table.apiVersion, 'meta.k8s.io/v1');
    assert.equal(table.metadata.resourceVersion, String(test.server.revision));
    assert.deepEqual(
      table.columnDefinitions.map(({ name }) => name),
      ['Name', 'Data', 'Age'],
    );
    const [row] = table.rows;
    assert.deepEqual(row?.cells, ['a', 1, '0s']);
    const object = row?.object as { kind: string; metadata: { name: string }; data?: unknown };
    assert.deepEqual([object.kind, object.metadata.name, object.data], ['PartialObjectMetadata', 'a', undefined]);
  });

  it('carries the whole object, its metadata or nothing, as asked', async () => {
    const test = testServer();
    await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    const carried = async (includeObject: string) => {
      const more = { accept: ACCEPT, query: { includeObject } };
      return ((await test.ok('GET', `${CONFIG_MAPS}/a`, undefined, more)) as unknown as Table).rows[0]?.object;
    };
    assert.equal(await carried('None'), null);
    assert.equal(((await carried('Metadata')) as { kind: string }).kind, 'PartialObjectMetadata');
    assert.deepEqual(((await carried('Object')) as { data: unknown }).data, { x: '1' });
    const refusal = await test.refused('GET', CONFIG_MAPS, undefined, {
      accept: ACCEPT,
      query: { includeObject: 'All' },
    });
    assert.equal(refusal.code, 400);
  });

  it('sends the columns in the first event of a watch only', async () => {
    const test = testServer();
    const watch = await test.watch(CONFIG_MAPS, {}, { accept: ACCEPT });
    await test.ok('POST', CONFIG_MAPS, configMap('a'));
    await test.ok('POST', CONFIG_MAPS, configMap('b'));
    const events = await watch.take();
    const tables = events.map(({ object }) => object as Table);
    assert.deepEqual(
      tables.map(({ kind, columnDefinitions, rows }) => [kind, columnDefinitions.length, rows[0]?.cells[0]]),
      [
        ['Table', 3, 'a'],
        ['Table', 0, 'b'],
      ],
    );
    await watch.close();
  });

  it('pages', async () => {
    const test = testServer();
    for (const name of ['a', 'b', 'c']) await test.ok('POST', CONFIG_MAPS, configMap(name));
    const page = async (query: Record<string, string>) =>
      (await test.ok('GET', CONFIG_MAPS, undefined, { accept: ACCEPT, query })) as unknown as Table;
    const first = await page({ limit: '2' });
    assert.equal(first.metadata.remainingItemCount, 1);
    const rest = await page({ limit: '2', continue: first.metadata.continue ?? '' });
    assert.deepEqual(
      rest.rows.map(({ cells }) => cells[0]),
      ['c'],
    );
  });

  it('shows custom resources by the columns of their definition', async () => {
    const test = testServer();
    const crd = definition();
    const [version] = crd.spec.versions;
    const columns = [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Tags', type: 'string', jsonPath: '.spec.tags', priority: 1 },
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ];
    Object.assign(version ?? {}, { additionalPrinterColumns: columns });
    await test.ok('POST', CRDS, crd);
    await test.server.idle();
    await test.ok('POST', WIDGETS, widget('w', { size: 3, tags: ['a', 'b'] }));
    await test.clock.advance(5000);
    const table = (await test.ok('GET', WIDGETS, undefined, { accept: ACCEPT })) as unknown as Table;
    assert.deepEqual(
      table.columnDefinitions.map(({ name, type, priority }) => [name, type, priority]),
      [
        ['Name', 'string', 0],
        ['Size', 'integer', 0],
        ['Tags', 'string', 1],
        ['Ready', 'string', 0],
        ['Since', 'date', 0],
      ],
    );
    assert.deepEqual(table.rows[0]?.cells, ['w', 3, '["a","b"]', null, '5s']);
  });

  it('shows a custom resource without columns by its age', async () => {
    const test = testServer();
    await test.ok('POST', CRDS, definition());
    await test.server.idle();
    const table = (await test.ok('GET', WIDGETS, undefined, { accept: ACCEPT })) as unknown as Table;
    assert.deepEqual(
      table.columnDefinitions.map(({ name }) => name),
      ['Name', 'Age'],
    );
  });

  it('refuses to answer in a form that it does not have', async () => {
    const test = testServer();
    const refusal = await test.refused('GET', CONFIG_MAPS, undefined, {
      accept: 'application/vnd.kubernetes.protobuf',
    });
    assert.equal(refusal.reason, 'NotAcceptable');
    const accept = 'application/vnd.kubernetes.protobuf,application/json';
    assert.equal((await test.ok('GET', CONFIG_MAPS, undefined, { accept })).kind, 'ConfigMapList');
  });
});
