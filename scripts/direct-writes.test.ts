// Every write of a reconciler goes through the decision in packages/reconcile/src/ownership. A file of an operator that calls a
// client itself is listed here with the reason, so that a new way to delete or replace objects cannot appear unseen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesOfWorkspace, root } from './workspace-files.ts';

const DELETES = /\bclient(?:\(\))?\s*\.(?:delete|deleteCollection|update)\(/;
const PERMITS = /\bas Permit\b/;

/** The reason of each exception: a command carries out its user's request; a program ends or renews an object of its own. */
const ALLOWED: Readonly<Record<string, string>> = {
  'operators/sesame/src/commands/certgen.ts': 'a command: the user asks to overwrite the Secrets',
  'operators/sesame/src/program/heartbeat.ts': 'a replica removes its own Lease when it ends',
  'operators/submariner/src/commands/cable-policy.ts': 'a command: the user names the policy to delete',
  'operators/submariner/src/commands/leave.ts': 'a command: the user takes the cluster out of the set',
  'operators/submariner/src/gateway/gateway-report.ts': 'a gateway removes its own Gateway when it ends',
  'operators/submariner/src/gateway/heartbeat.ts': 'removes Gateways and Leases that gateways wrote, by uid',
  'operators/submariner/src/membership/clear-member.ts': 'removes copies of synced objects from a cluster that leaves',
  'operators/submariner/src/membership/leave-broker.ts': 'removes the objects of a cluster that leaves from its broker',
};

const sources = filesOfWorkspace().filter(
  (file) => file.endsWith('.ts') && !/\.test(-support)?\.ts$/.test(file) && !file.includes('/test/'),
);
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('no operator deletes or replaces objects past the decision of the runtime, except where a reason is listed', () => {
  const direct = sources.filter((file) => /^operators\/[^/]+\/src\//.test(file) && DELETES.test(read(file)));
  assert.deepEqual(direct.toSorted(), Object.keys(ALLOWED).toSorted());
});

test('only the decision makes permits', () => {
  const made = sources.filter((file) => PERMITS.test(read(file)));
  assert.deepEqual(made, ['packages/reconcile/src/ownership/decide.ts']);
});
