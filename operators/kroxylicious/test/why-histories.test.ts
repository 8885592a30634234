// Random histories of edits, restarts and crashes. Every rollout has one Event with its reason. The reason, the Event and the cause on the
// Deployment name exactly the objects whose edits caused it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, type KubeObject, Secret } from '@capstan/kube';
import { CAUSE_ANNOTATION, type EventInput, parseCause, ROLLED_ANNOTATION } from '@capstan/reconcile';
import { createLives, createRandom, type Life, type Lives, runs, type SeededRandom } from '@capstan/testing';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaService,
  VirtualKafkaCluster,
} from '../src/index.ts';
import {
  checksum,
  cluster,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  opaque,
  patch,
  proxy,
  service,
  tcpIngress,
} from './fixtures.ts';

const ROUNDS = 6;
const UNDONE = 'a user rolled the Deployment back';
const operators = [createKroxylicious()];
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const FILTERED = { filterRefs: [{ name: 'encryption' }] };

const given = (): KubeObject[] => [
  proxy(),
  proxy({}, 'other'),
  service(),
  tcpIngress(),
  tcpIngress('theirs', 'other'),
  opaque('keys', { a: '0' }),
  filter({ key: '${secret:keys:a}' }),
  cluster('one', FILTERED),
];

/** One history: the cluster, its operator, and the reported events. */
interface History {
  readonly lives: Lives;
  readonly random: SeededRandom;
  readonly story: string[];
  /** Events by their ids, since a server keeps one Event of each name. */
  readonly events: Map<string, EventInput>;
  /** Virtual clusters besides `one`, and whether each belongs to the proxy. */
  readonly clusters: Map<string, boolean>;
  life: Life;
  next: number;
}

/** Makes one edit that the proxy's configuration depends on, and returns the name of the edited object. */
async function edit(history: History): Promise<string> {
  const { lives, random, clusters, story } = history;
  const { client } = lives;
  const count = history.next++;
  const named = (text: string, object: string) => {
    story.push(`${text} ${object}`);
    return object;
  };
  const edits: readonly (() => Promise<string>)[] = [
    async () => {
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: `kafka-${count}.example:9092` } });
      return named('edit', 'KafkaService default/upstream');
    },
    async () => {
      const configTemplate = { key: '${secret:keys:a}', count };
      await patch(client, KafkaProtocolFilter, 'encryption', { spec: { configTemplate } });
      return named('edit', 'KafkaProtocolFilter default/encryption');
    },
    async () => {
      await patch(client, Secret, 'keys', { data: encoded({ a: `${count}`, unused: `${count}` }) });
      return named('edit', 'Secret default/keys');
    },
    async () => {
      await patch(client, KafkaProxy, 'my-proxy', { spec: { network: { proxy: { workerThreadCount: count + 2 } } } });
      return named('edit', 'KafkaProxy default/my-proxy');
    },
    async () => {
      const name = `c${count}`;
      clusters.set(name, true);
      await create(client, cluster(name, random.chance(0.5) ? FILTERED : {}));
      return named('create', `VirtualKafkaCluster default/${name}`);
    },
    async () => {
      const name = random.pick([...clusters.keys()]);
      const isServed = clusters.get(name);
      clusters.set(name, isServed !== true);
      const [of, ingress] = isServed ? ['other', 'theirs'] : ['my-proxy', 'tcp'];
      const spec = { proxyRef: { name: of }, ingresses: [{ ingressRef: { name: ingress } }] };
      await patch(client, VirtualKafkaCluster, name, { spec });
      return named('move', `VirtualKafkaCluster default/${name}`);
    },
    async () => {
      const name = random.pick([...clusters].filter(([, isServed]) => isServed).map(([of]) => of));
      clusters.delete(name);
      await client.delete(VirtualKafkaCluster, ref(name));
      return named('delete', `VirtualKafkaCluster default/${name}`);
    },
  ];
  const isAnyServed = [...clusters.values()].some(Boolean);
  const possible = edits.filter((_, at) => (at === 5 ? clusters.size > 0 : at !== 6 || isAnyServed));
  return random.pick(possible)();
}

async function someEdits(history: History): Promise<Set<string>> {
  const before = new Map(history.clusters);
  const names = new Set<string>();
  for (let left = history.random.integer(1, 3); left > 0; left--) names.add(await edit(history));
  return changedSince(history, before, names);
}

/** Returns the objects whose edits have an effect. A cluster that was added and removed, or that left and came back, changed nothing. */
function changedSince(
  { clusters }: History,
  before: ReadonlyMap<string, boolean>,
  edited: Iterable<string>,
): Set<string> {
  const isChanged = (object: string) => {
    const [kind, name = ''] = object.split(' default/');
    return kind !== 'VirtualKafkaCluster' || (before.get(name) ?? false) !== (clusters.get(name) ?? false);
  };
  return new Set([...edited].filter(isChanged));
}

async function templateOf({ lives }: History): Promise<{ deployment: Deployment; checksum: string | undefined }> {
  const deployment = await lives.client.get(Deployment, ref('my-proxy'));
  return { deployment, checksum: checksum(deployment) };
}

/** Checks the reason of the last rollout on the Deployment, in the status and in the newest Event. */
async function checkReason(history: History, edited: ReadonlySet<string>): Promise<void> {
  const { deployment } = await templateOf(history);
  const { [ROLLED_ANNOTATION]: rolled, [CAUSE_ANNOTATION]: cause } = deployment.metadata.annotations ?? {};
  const { changes = [], more } = parseCause(rolled || cause) ?? {};
  assert.deepEqual(changes.map(({ object }) => object.replace(/\.[a-z.]+ /, ' ')).sort(), [...edited].sort());
  assert.equal(more, undefined);
  const { reason = '' } = (await get.proxy(history.lives.client)).status?.rollout ?? {};
  const note = [...history.events.values()].at(-1)?.note ?? '';
  for (const text of [reason, note]) {
    // The text names three objects and counts the others.
    const named = [...edited].filter((object) => text.includes(`${object} `));
    const [, others = '0'] = /; and (\d+) more$/.exec(text) ?? [];
    assert.equal(named.length + Number(others), edited.size, `${text} does not name ${[...edited].join(', ')}`);
  }
}

function checkEvents({ events }: History, before: number, rollouts: number): void {
  const since = [...events.values()].slice(before).map(({ note }) => note);
  assert.equal(since.length, rollouts, `${rollouts} rollouts, and these Events: ${JSON.stringify(since)}`);
}

type Move = (history: History) => Promise<void>;

/** Makes edits while the operator runs. */
const online: Move = async (history) => {
  const before = history.events.size;
  const edited = await someEdits(history);
  await history.life.settle();
  checkEvents(history, before, edited.size > 0 ? 1 : 0);
  if (edited.size > 0) await checkReason(history, edited);
};

/** Makes edits while the operator is down. */
const away: Move = async (history) => {
  const before = history.events.size;
  await history.life.end();
  history.story.push('stop');
  const edited = await someEdits(history);
  await begin(history);
  checkEvents(history, before, edited.size > 0 ? 1 : 0);
  if (edited.size > 0) await checkReason(history, edited);
};

/** Kills the operator while it handles the first edits. The others are made before it restarts. */
const crash: Move = async (history) => {
  const { random, life, story } = history;
  const before = history.events.size;
  const running = (await templateOf(history)).checksum;
  const had = new Map(history.clusters);
  const first = await someEdits(history);
  const writes = random.integer(0, 5);
  story.push(`die after ${writes} writes`);
  life.dieAfterWrites(writes);
  await life.settle();
  life.dieAfterWrites(0);
  const isRolled = (await templateOf(history)).checksum !== running;
  const second = random.chance(0.7) ? await someEdits(history) : new Set<string>();
  await begin(history);
  const [rolled, last] = isRolled ? [1, second] : [0, changedSince(history, had, [...first, ...second])];
  checkEvents(history, before, rolled + (last.size > 0 ? 1 : 0));
  const reasonOf = isRolled && last.size === 0 ? first : last;
  if (reasonOf.size > 0) await checkReason(history, reasonOf);
};

/** Restores the earlier template as `kubectl rollout undo` does, with the operator running or down. */
const undo: Move = async (history) => {
  const { lives, random, story } = history;
  const { deployment } = await templateOf(history);
  await online(history);
  if (checksum(deployment) === (await templateOf(history)).checksum) return;
  const before = history.events.size;
  const isAway = random.chance(0.5);
  story.push(isAway ? 'undo while it is away' : 'undo');
  if (isAway) await history.life.end();
  await lives.client.patch(Deployment, ref('my-proxy'), 'json', [
    { op: 'replace', path: '/spec/template', value: deployment.spec?.template },
  ] as never);
  if (isAway) await begin(history);
  else await history.life.settle();
  checkEvents(history, before, 1);
  assert.equal((await get.proxy(lives.client)).status?.rollout?.reason, UNDONE);
};

async function begin(history: History): Promise<void> {
  history.story.push('start');
  history.life = await history.lives.begin();
  await history.life.settle();
}

async function lived(seed: number): Promise<void> {
  const random = createRandom(seed);
  const events = new Map<string, EventInput>();
  let current: Life | undefined;
  const lives = await createLives({
    operators,
    given: (client) => create(client, ...given()),
    runtime: {
      notify(_world, _operator, { metadata }, event) {
        // Ignore the requests of a dead process, which do not arrive.
        if (event.reason !== 'RolloutStarted' || metadata.name !== 'my-proxy' || current?.isDead) return;
        if (!events.has(event.id ?? '')) events.set(event.id ?? '', event);
      },
    },
  });
  current = await lives.begin();
  const history: History = {
    lives,
    random,
    events,
    story: [],
    clusters: new Map(),
    next: 1,
    get life() {
      return current as Life;
    },
    set life(life) {
      current = life;
    },
  };
  try {
    await current.settle();
    for (let round = 0; round < ROUNDS; round++) {
      history.story.push(`--- round ${round}`);
      await random.pick([online, away, away, crash, crash, undo])(history);
    }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${history.story.join('\n')}`, { cause: error });
  } finally {
    await history.life.end();
    await lives.close();
  }
}

describe('every rollout has its reason and one Event', () => {
  const count = runs(8, 500, 'WHY_HISTORIES');
  const seeds = process.env['SIMULATION_SEED'];
  const all = seeds === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(seeds)];
  for (const seed of all) test(`history ${seed}`, () => lived(seed));
});
