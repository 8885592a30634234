// The sync of one member with its broker, through histories in which either goes away, requests fail, the lease is lost and the
// process dies: both end in the state that is reached without faults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, isNotFound, Namespace } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import {
  runs,
  type SeededRandom,
  simulateWorlds,
  type WorldsAct,
  type WorldsMove,
  type WorldsSubject,
} from '@capstan/testing';
import {
  BROKER_NAMESPACE,
  Broker,
  CablePolicies,
  Cluster,
  CREATED_AT_ANNOTATION,
  Endpoint,
  Gateway,
  MEMBER_NAMESPACE,
  Submariner,
} from '../../src/kinds/index.ts';
import { createOwnedSync } from '../../src/reconcilers/sync-owned.ts';
import { createPolicySync } from '../../src/reconcilers/sync-policies.ts';
import { BASE_UID, BASE_VERSION, EXPORT } from '../../src/sync/content.ts';

const COUNT = runs(8, 300, 'SIMULATIONS');
const REPLAY = process.env['SIMULATION_SEED'];
const places = { clusterID: 'east', namespace: MEMBER_NAMESPACE, brokerNamespace: BROKER_NAMESPACE };
const SIDES = { '': MEMBER_NAMESPACE, broker: BROKER_NAMESPACE } as const;
type Side = keyof typeof SIDES;

const subject: WorldsSubject = {
  operators: [
    operator({
      name: 'submariner-gateway',
      kinds: [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway],
      reconcilers: [...createPolicySync(places), ...createOwnedSync(Cluster, places)],
    }),
  ],
  namespace: MEMBER_NAMESPACE,
  worlds: [{ name: 'broker', role: 'broker', namespace: BROKER_NAMESPACE }],
  kinds: () => [CablePolicies, Cluster],
  // They hold the uid and versions of the copy on the broker, and a time.
  volatile: [BASE_UID, BASE_VERSION, EXPORT, CREATED_AT_ANNOTATION],
  script: createScript,
};

/** Each object is written on one side only: concurrent writes of two sides have no single outcome. */
const OBJECTS = [
  { kind: 'policy', name: 'here', side: '' },
  { kind: 'policy', name: 'there', side: 'broker' },
  { kind: 'cluster', name: 'east', side: '' },
  { kind: 'cluster', name: 'west', side: 'broker' },
] as const;

/** The labels of a Cluster are merged: each side of the member's own one sets a label that the other leaves alone. */
const LABELS = { '': 'env', broker: 'region' } as const;

function createScript(random: SeededRandom): readonly WorldsAct[] {
  const present = new Set<string>();
  const namespaces = Object.entries(SIDES).map(
    ([side, name]): WorldsMove => ({
      ...move(`create namespace ${name}`, 0, present),
      act: (clients) =>
        clientOf(clients, side).create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
    }),
  );
  return [true, false, true].map((mayDelete, index) => {
    const deleted = new Set<string>();
    const settled = new Set(present);
    const moves: WorldsMove[] = index === 0 ? [...namespaces] : [];
    for (let left = 6; left > 0 && deleted.size < OBJECTS.length; ) {
      const chosen = random.pick(OBJECTS);
      const { kind, name, side } = chosen;
      if (deleted.has(name)) continue;
      const value = random.pick(['ipsec', 'wireguard', 'vxlan']);
      // On the broker a user can label objects that have arrived there.
      const labelled = settled.has('east') ? random.pick(['', 'broker'] as const) : '';
      const afterMs = random.pick([0, 1, 50, 700, 5000, 60_000]);
      left--;
      if (mayDelete && present.has(name) && random.chance(0.3)) {
        present.delete(name);
        deleted.add(name);
        moves.push({
          ...move(`delete ${kind} ${name}`, afterMs, present),
          act: (clients) => quiet(clientOf(clients, side).delete(kindOf(kind), { namespace: SIDES[side], name })),
        });
        continue;
      }
      const isNew = !present.has(name);
      if (name === 'east' && !isNew && random.chance(0.6)) {
        const label = random.chance(0.3) ? null : value;
        moves.push({
          ...move(`label ${LABELS[labelled]} of cluster east on ${labelled || 'local'} = ${label}`, afterMs, present),
          act: (clients) => relabel(clientOf(clients, labelled), labelled, label),
        });
        continue;
      }
      present.add(name);
      moves.push({
        ...move(`${kind} ${name} = ${value}`, afterMs, present),
        act: (clients) => write(clientOf(clients, side), chosen, value, isNew),
      });
    }
    return { moves, mayRemove: !mayDelete };
  });
}

function move(name: string, afterMs: number, present: ReadonlySet<string>): Omit<WorldsMove, 'act'> {
  return { name, afterMs, wanted: new Set(OBJECTS.filter((one) => present.has(one.name)).map(copyPath)) };
}

/** Where the copy of an object is. */
function copyPath({ kind, name, side }: (typeof OBJECTS)[number]): string {
  const other: Side = side === '' ? 'broker' : '';
  return `${other} /apis/submariner.io/v1/namespaces/${SIDES[other]}/${kindOf(kind).plural}/${name}`;
}

function kindOf(kind: 'policy' | 'cluster') {
  return kind === 'policy' ? CablePolicies : Cluster;
}

function write(client: Client, { kind, name, side }: (typeof OBJECTS)[number], value: string, isNew: boolean) {
  const ref = { namespace: SIDES[side], name };
  if (kind === 'policy') {
    const spec = [{ cableDriver: { name: value } }];
    return isNew
      ? client.create(CablePolicies, {
          apiVersion: CablePolicies.apiVersion,
          kind: 'CablePolicies',
          metadata: ref,
          spec,
        })
      : client.patch(CablePolicies, ref, 'merge', { spec });
  }
  // Clusters have networks of their own: a claim to those of another is not published.
  const network = `${name === 'east' ? 10 : 11}.${value.length}.0.0/16`;
  const spec = { cluster_id: name, service_cidr: [], cluster_cidr: [network], global_cidr: [] };
  return isNew
    ? client.create(Cluster, { apiVersion: Cluster.apiVersion, kind: 'Cluster', metadata: ref, spec })
    : client.patch(Cluster, ref, 'merge', { spec });
}

function relabel(client: Client, side: Side, value: string | null): Promise<unknown> {
  const labels = { [LABELS[side]]: value };
  return client.patch(Cluster, { namespace: SIDES[side], name: 'east' }, 'merge', { metadata: { labels } });
}

function clientOf(clients: ReadonlyMap<string, Client>, side: string): Client {
  const client = clients.get(side);
  if (client === undefined) throw new TypeError(`there is no cluster named ${side}`);
  return client;
}

async function quiet(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

test(`${COUNT} histories of a member and its broker end in the state that is reached without faults`, async () => {
  const seeds = REPLAY === undefined ? Array.from({ length: COUNT }, (_, index) => index + 1) : [Number(REPLAY)];
  for (const seed of seeds) {
    const { problems, story, faults } = await simulateWorlds(subject, seed);
    const replay = `SIMULATION_SEED=${seed} npm test -- operators/submariner/test/sync/histories.test.ts`;
    const history = `moves:\n  ${story.join('\n  ')}\nfaults:\n${faults}\nreplay: ${replay}`;
    assert.deepEqual(problems, [], `seed ${seed}: ${problems.join('\n')}\n${history}`);
  }
});
