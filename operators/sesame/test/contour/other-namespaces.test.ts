// Property: another namespace may create any objects for a host, and the older HTTPProxy that has the host serves it as before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { runs } from '@capstan/testing';
import { effectiveOfFile, readConfigurationFile } from '../../src/configuration/index.ts';
import { createSecrets } from '../errors/secrets.ts';
import { type Case, createCases, sharedObjects } from './cases.ts';
import { askSesame } from './sesame.ts';
import { hostView, type Value } from './view.ts';

const HOST = 'victim.test';
const SETTINGS = (() => {
  const { effective } = effectiveOfFile(readConfigurationFile(''), { path: 'contour.yaml', namespace: 'default' });
  return { ...effective.value, ingress: { ...effective.value.ingress, contour: true } };
})();

function created(object: KubeObject, creationTimestamp: string): KubeObject {
  return {
    ...object,
    metadata: { ...object.metadata, creationTimestamp, uid: `${object.kind} ${object.metadata.name}` },
  };
}

/** The hosts of the case become the one host. */
function forHost({ objects, hosts }: Case): readonly KubeObject[] {
  const text = hosts.reduce(
    (sum, host) => sum.replaceAll(JSON.stringify(host), JSON.stringify(HOST)),
    JSON.stringify(objects),
  );
  return JSON.parse(text) as KubeObject[];
}

/** Objects of the case in the namespace `other`, younger than everything. */
function attackOf(each: Case): KubeObject[] {
  return forHost(each).map((object) => {
    const moved = {
      ...object,
      metadata: { ...object.metadata, namespace: 'other', name: `other-${object.metadata.name}` },
    };
    return created(moved, '2026-02-02T00:00:00Z');
  });
}

for (let seed = 1; seed <= runs(2, 20); seed++)
  test(`objects of another namespace take nothing from a host (seed ${seed})`, async () => {
    const cases = createCases(seed, 60);
    const isProxy = ({ objects }: Case) => objects.every(({ kind }) => kind === 'HTTPProxy');
    const shared = sharedObjects(await createSecrets());
    const ask = (objects: readonly KubeObject[]) => askSesame([...shared, ...objects], SETTINGS, [HOST]).resources;
    let compared = 0;
    for (const [at, own] of cases.filter(isProxy).entries()) {
      const attacker = cases[(at * 7 + seed) % cases.length];
      if (!attacker) continue;
      const victim = forHost(own).map((object) => created(object, '2026-01-01T00:00:00Z'));
      const alone = hostView(ask(victim), HOST);
      if (alone.plain === null && alone.chain === null) continue;
      const beside = hostView(ask([...victim, ...attackOf(attacker)]), HOST);
      const isIngress = !isProxy(attacker);
      const what = `${own.name} beside ${attacker.name}`;
      // An Ingress may add paths to a host, and takes none.
      if (isIngress) for (const side of ['plain', 'secure'] as const) assertKept(alone[side], beside[side], what);
      else assert.deepEqual(beside, alone, what);
      compared += 1;
    }
    assert.ok(compared > 10, `${compared} hosts`);
  });

function assertKept(alone: Value, beside: Value, what: string): void {
  const routes = (value: Value) =>
    ((value ?? {}) as { readonly routes?: Readonly<Record<string, Value>> }).routes ?? {};
  for (const [match, route] of Object.entries(routes(alone)))
    assert.deepEqual(routes(beside)[match], route, `${what}: ${match}`);
}
