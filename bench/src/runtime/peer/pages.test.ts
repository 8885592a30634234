import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../apiserver/connection.ts';
import { assertSameWork } from '../../measure/same-work.ts';
import { childrenOf } from './pages.ts';

const answering = (items: object[]) =>
  ({ exchange: () => Promise.resolve({ body: Buffer.from(JSON.stringify({ items })) }) }) as unknown as Connection;
const child = (name: string, data: object) => ({ metadata: { name }, data });

test('the children of a side are its ConfigMaps by name, whatever the order of their keys', async () => {
  const ours = await childrenOf(
    answering([child('page-00001', { seq: '1', html: 'x' }), child('kube-root-ca.crt', { 'ca.crt': 'y' })]),
    'ours',
  );
  const theirs = await childrenOf(answering([child('page-00001', { html: 'x', seq: '1' })]), 'theirs');
  assert.deepEqual([...ours.keys()], ['page-00001']);
  assertSameWork([
    { name: 'ours', work: ours },
    { name: 'theirs', work: theirs },
  ]);
});

test('a side that has not carried out an edit is noticed', async () => {
  const work = async (seq: string) => childrenOf(answering([child('page-00001', { seq })]), 'x');
  const [ours, theirs] = [await work('2'), await work('1')];
  assert.throws(
    () =>
      assertSameWork([
        { name: 'ours', work: ours },
        { name: 'theirs', work: theirs },
      ]),
    /different work/,
  );
});
