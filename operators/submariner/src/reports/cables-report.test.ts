import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, Kind } from '@capstan/kube';
import { type CablesReport, cablesReport, type ReportedPair } from './cables-report.ts';

const pair = (left: string, right: string, state: ReportedPair['state'] = 'unknown'): ReportedPair => ({
  left,
  right,
  driver: 'ipsec',
  policy: 'default',
  state,
});

/** A member whose active gateway has connections to others; it cannot be read without an id. */
function member(id: string | undefined, connections: Readonly<Record<string, string>> = {}): Client {
  const list = async ({ kind }: Kind) => {
    if (id === undefined) throw new Error('connection refused');
    if (kind === 'Submariner')
      return { items: [{ metadata: { namespace: 'submariner-operator' }, spec: { clusterID: id } }] };
    const ends = Object.entries(connections).map(([other, status]) => ({ status, endpoint: { cluster_id: other } }));
    return { items: [{ status: { haStatus: 'active', connections: ends } }, { status: { haStatus: 'passive' } }] };
  };
  return { list } as unknown as Client;
}

async function statesWith(...others: readonly Client[]): Promise<readonly ReportedPair['state'][]> {
  const pairs = [pair('east', 'west'), pair('north', 'west'), pair('east', 'north', 'down')];
  const body = { namespace: 'broker', clusters: [], pairs, policies: [], problems: [] } satisfies CablesReport;
  const context = { others, signal: new AbortController().signal } as never;
  const found = (await cablesReport.complete?.(body, context)) as CablesReport;
  return found.pairs.map(({ state }) => state);
}

describe('the page of cables', () => {
  test('asks members that the program knows for the ends that its own cluster does not have', async () => {
    assert.deepEqual(await statesWith(member('west', { east: 'connected', north: 'error' })), ['up', 'down', 'down']);
  });

  test('keeps a pair as not known where no member has its end, or none can be read', async () => {
    assert.deepEqual(await statesWith(member('south', { west: 'connected' })), ['unknown', 'unknown', 'down']);
    assert.deepEqual(await statesWith(member(undefined), member('north', { west: 'connecting' })), [
      'unknown',
      'connecting',
      'down',
    ]);
  });
});
