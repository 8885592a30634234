// The table of the seed document: one reconciler for each kind, each with its role.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createKroxylicious, GROUP } from '../../src/index.ts';

interface Row {
  reconciler: string;
  roles: string[];
  watches: string[];
}

const rows = JSON.parse(readFileSync(new URL('reconcilers.json', import.meta.url), 'utf8')) as Row[];

/** Sidecars are not part of the seed. They have their own group. */
const isOfSeed = ({ group }: { group: string }) => group === GROUP;

test('every row of the seed’s table is one reconciler of one kind, and there are no others', () => {
  const { reconcilers } = createKroxylicious();
  const created = reconcilers
    .filter(({ resource }) => isOfSeed(resource))
    .map(({ name, resource }) => [name, resource.kind]);
  const wanted = rows.map(({ reconciler }) => [
    reconciler.toLowerCase().replaceAll(' ', '-'),
    reconciler.replaceAll(' ', ''),
  ]);
  assert.deepEqual(new Set(created.map(String)), new Set(wanted.map(String)));
});

test('every kind has its hash in its status, as leaf or aggregator', () => {
  for (const kind of createKroxylicious().kinds.filter(isOfSeed)) {
    const { schema } = kind as unknown as { schema: { properties: { status: { properties: object } } } };
    assert.ok('configHash' in schema.properties.status.properties, kind.kind);
  }
});
