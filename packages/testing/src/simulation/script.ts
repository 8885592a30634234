// The actions of users in a simulation, by seed: the same moves with and without faults.
import { type Client, ConfigMap, Deployment, isNotFound, type KubeObject, Secret } from '@capstan/kube';
import type { SeededRandom } from '../random.ts';
import { Fleet, Site } from './simulated-operator.ts';

export interface Move {
  /** The name of the action, for failure reports. */
  readonly name: string;
  /** Time that passes before. */
  readonly afterMs: number;
  act(client: Client): Promise<unknown>;
  readonly creates?: string;
  readonly deletes?: string;
}

const NAMESPACE = 'default';
const SITES = ['a', 'b', 'c'];
const SECRETS = ['s1', 's2'];
const PAGES = ['home', 'about', 'news'];
const TEAMS = ['red', 'blue'];

/**
 * Two acts; everything comes to rest between them. Each ends with all Secrets present, so that there is one state to
 * converge to. A name that was deleted is not used again in the same act: whether a create finds the old one still there
 * would depend on how fast the program is.
 */
export function createScript(random: SeededRandom, length: number): Move[][] {
  const opening: Move[] = [
    ...TEAMS.map((team) => move(`create fleet ${team}`, 0, (client) => client.create(Fleet, fleetOf(team)))),
    move('create borrowed', 0, (client) => client.create(ConfigMap, borrowedOf())),
  ];
  return [[...opening, ...createAct(random, length)], createAct(random, length)];
}

function createAct(random: SeededRandom, length: number): Move[] {
  const moves: Move[] = [];
  const deleted = new Set<string>();
  while (moves.length < length) {
    const next = randomMove(random);
    if (next.creates !== undefined && deleted.has(next.creates)) continue;
    if (next.deletes !== undefined) deleted.add(next.deletes);
    moves.push(next);
  }
  const ensure = (secret: string) => (client: Client) => ensureSecret(client, secret, 'final');
  return [...moves, ...SECRETS.map((secret) => move(`ensure secret ${secret}`, 10, ensure(secret)))];
}

function randomMove(random: SeededRandom): Move {
  const afterMs = random.pick([0, 0, 1, 50, 700, 5000]);
  const name = random.pick(SITES);
  const ref = { namespace: NAMESPACE, name };
  const value = `v${random.integer(1, 9)}`;
  const page = random.pick(PAGES);
  const secret = random.pick(SECRETS);
  const team = random.pick(TEAMS);
  const merge = (kind: typeof Site, patch: object) => (client: Client) =>
    quiet(client.patch(kind, ref, 'merge', patch));
  const kinds: (() => Move)[] = [
    () => ({
      ...move(`create site ${name}`, afterMs, (client) => create(client, siteOf(name, value, team))),
      creates: name,
    }),
    () => ({
      ...move(`create site ${name}`, afterMs, (client) => create(client, siteOf(name, value, team, secret))),
      creates: name,
    }),
    () => move(`image of ${name} = ${value}`, afterMs, merge(Site, { spec: { image: value } })),
    () => move(`page ${page} of ${name} = ${value}`, afterMs, merge(Site, { spec: { pages: { [page]: value } } })),
    () => move(`no page ${page} of ${name}`, afterMs, merge(Site, { spec: { pages: { [page]: null } } })),
    () =>
      move(`roles of ${name} = ${value}`, afterMs, merge(Site, { spec: { roles: random.chance(0.5) ? [] : [value] } })),
    () => move(`team of ${name} = ${team}`, afterMs, merge(Site, { metadata: { labels: { team } } })),
    () =>
      move(
        `secret of ${name} = ${secret}`,
        afterMs,
        merge(Site, { spec: { secret: random.chance(0.3) ? null : secret } }),
      ),
    () =>
      move(
        `${name} borrows`,
        afterMs,
        merge(Site, { spec: { borrowed: name === 'a' ? random.pick(['borrowed', null]) : null } }),
      ),
    () => ({
      ...move(`delete site ${name}`, afterMs, (client) => quiet(client.delete(Site, ref))),
      deletes: name,
    }),
    () => move(`secret ${secret} = ${value}`, afterMs, (client) => ensureSecret(client, secret, value)),
    () =>
      move(`delete secret ${secret}`, afterMs, (client) =>
        quiet(client.delete(Secret, { namespace: NAMESPACE, name: secret })),
      ),
    () => move(`drift of deployment ${name}`, afterMs, (client) => drift(client, name)),
    () => move(`delete deployment ${name}`, afterMs, (client) => quiet(client.delete(Deployment, ref))),
    () =>
      move(`delete page ${name}-${page}`, afterMs, (client) =>
        quiet(client.delete(ConfigMap, { namespace: NAMESPACE, name: `${name}-${page}` })),
      ),
  ];
  return random.pick(kinds)();
}

function move(name: string, afterMs: number, act: Move['act']): Move {
  return { name, afterMs, act };
}

function siteOf(name: string, image: string, team: string, secret?: string): KubeObject {
  const spec = { image, pages: { home: image }, ...(secret === undefined ? {} : { secret }) };
  return {
    apiVersion: Site.apiVersion,
    kind: 'Site',
    metadata: { name, namespace: NAMESPACE, labels: { team } },
    spec,
  } as KubeObject;
}

function fleetOf(team: string): Fleet {
  return {
    apiVersion: Fleet.apiVersion,
    kind: 'Fleet',
    metadata: { name: team, namespace: NAMESPACE },
    spec: { team },
  };
}

function borrowedOf(): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'borrowed', namespace: NAMESPACE },
    data: { own: 'yes' },
  };
}

async function create(client: Client, object: KubeObject): Promise<void> {
  if ((await client.find(Site, { namespace: NAMESPACE, name: object.metadata.name ?? '' })) === undefined)
    await client.create(Site, object as Site);
}

async function ensureSecret(client: Client, name: string, value: string): Promise<void> {
  const ref = { namespace: NAMESPACE, name };
  const data = { value: Buffer.from(value).toString('base64') };
  if ((await client.find(Secret, ref)) === undefined) {
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref, data });
  } else await client.patch(Secret, ref, 'merge', { data });
}

async function drift(client: Client, name: string): Promise<void> {
  const spec = { template: { spec: { containers: [{ name: 'main', image: 'drifted:1' }] } } };
  await quiet(
    client.patch(Deployment, { namespace: NAMESPACE, name }, 'strategic', { spec }, { fieldManager: 'another' }),
  );
}

/** Users may act on objects that do not exist (any more). */
async function quiet(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
