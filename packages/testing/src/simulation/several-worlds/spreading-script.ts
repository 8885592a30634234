// The actions of users in the simulation of several clusters, by seed: policies in the local cluster, notices in the members, the defaults
// in the broker, and edits of children, which users should not make.
import { type Client, ConfigMap, isNotFound, type Kind } from '@capstan/kube';
import type { SeededRandom } from '../../random.ts';
import type { WorldsAct, WorldsMove } from './simulate-worlds.ts';
import { DEFAULTS, Notice, Policy } from './spreading-operator.ts';

export const WORLDS = [
  { name: 'broker', role: 'broker' },
  { name: 'm1', role: 'member' },
  { name: 'm2', role: 'member' },
] as const;
const MEMBERS = ['m1', 'm2'];
const NAMESPACE = 'default';
const POLICIES = ['a', 'b'];
const TARGETS = [[], ['broker'], ['m1'], ['m2'], ['*'], ['broker', '*'], ['m1', 'm2'], ['broker', 'm2']];
const MOVES = 6;

/** The desired state after the moves so far. */
interface Desired {
  readonly policies: Map<string, readonly string[]>;
  /** `member name`. */
  readonly notices: Set<string>;
}

export function createSpreadingScript(random: SeededRandom): readonly WorldsAct[] {
  const desired: Desired = { policies: new Map(), notices: new Set() };
  return [true, false, random.chance(0.5)].map((mayDelete) => {
    const taken = new Set<string>();
    const moves: WorldsMove[] = [];
    while (moves.length < MOVES) {
      const act = randomAct(random, desired, { mayDelete, taken });
      if (act !== undefined)
        moves.push({ ...act, afterMs: random.pick([0, 0, 1, 50, 700, 5000, 60_000]), wanted: wantedBy(desired) });
    }
    return { moves, mayRemove: !mayDelete };
  });
}

type Act = Pick<WorldsMove, 'name' | 'act'>;

interface Limits {
  readonly mayDelete: boolean;
  /** Names that were deleted in this act: whether a create would find the old one still there depends on the program. */
  readonly taken: Set<string>;
}

function randomAct(random: SeededRandom, desired: Desired, { mayDelete, taken }: Limits): Act | undefined {
  const name = random.pick(POLICIES);
  const member = random.pick(MEMBERS);
  const notice = `${member}-${random.pick(['x', 'y'])}`;
  const text = `v${random.integer(1, 9)}`;
  const to = random.pick(TARGETS);
  const at = { namespace: NAMESPACE, name };
  const acts: (() => Act | undefined)[] = [
    () => {
      if (desired.policies.has(name) || taken.has(name)) return undefined;
      desired.policies.set(name, to);
      const policy = { apiVersion: Policy.apiVersion, kind: 'Policy', metadata: at, spec: { text, to: [...to] } };
      return act(`create policy ${name} = ${text} to [${to.join(', ')}]`, '', (client) =>
        client.create(Policy, policy),
      );
    },
    () => {
      if (!desired.policies.has(name)) return undefined;
      desired.policies.set(name, to);
      return act(`policy ${name} to [${to.join(', ')}]`, '', (client) =>
        client.patch(Policy, at, 'merge', { spec: { to: [...to] } }),
      );
    },
    () => {
      if (!desired.policies.has(name)) return undefined;
      return act(`policy ${name} = ${text}`, '', (client) => client.patch(Policy, at, 'merge', { spec: { text } }));
    },
    () => {
      if (!mayDelete || !desired.policies.delete(name)) return undefined;
      taken.add(name);
      return act(`delete policy ${name}`, '', (client) => client.delete(Policy, at));
    },
    () => act(`defaults = ${text}`, 'broker', (client) => ensureDefaults(client, text)),
    () => {
      if (taken.has(notice)) return undefined;
      const isNew = !desired.notices.has(`${member} ${notice}`);
      desired.notices.add(`${member} ${notice}`);
      const ref = { namespace: NAMESPACE, name: notice };
      const created = { apiVersion: Notice.apiVersion, kind: 'Notice', metadata: ref, spec: { text } };
      return act(`notice ${notice} = ${text}`, member, (client) =>
        isNew ? client.create(Notice, created) : client.patch(Notice, ref, 'merge', { spec: { text } }),
      );
    },
    () => {
      if (!mayDelete || !desired.notices.delete(`${member} ${notice}`)) return undefined;
      taken.add(notice);
      return act(`delete notice ${notice}`, member, (client) =>
        client.delete(Notice, { namespace: NAMESPACE, name: notice }),
      );
    },
    () => {
      const place = random.pick(['', 'broker', ...MEMBERS]);
      const child = { namespace: NAMESPACE, name: place === '' ? `summary-${name}` : `policy-${name}` };
      return random.chance(0.5)
        ? act(`delete the copy of ${name}`, place, (client) => quiet(client.delete(ConfigMap, child)))
        : act(`change the copy of ${name}`, place, (client) =>
            quiet(client.patch(ConfigMap, child, 'merge', { data: { text: 'changed' } }, { fieldManager: 'user' })),
          );
    },
  ];
  return random.pick(acts)();
}

function act(name: string, world: string, work: (client: Client) => Promise<unknown>): Act {
  return {
    name: `${world || 'local'}: ${name}`,
    act(clients) {
      const client = clients.get(world);
      if (client === undefined) throw new TypeError(`there is no cluster named ${world}`);
      return work(client);
    },
  };
}

/** The children that the operator should have, as `cluster path`. */
function wantedBy({ policies, notices }: Desired): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const [name, to] of policies) {
    wanted.add(pathOf('', `summary-${name}`));
    for (const target of to.flatMap((each) => (each === '*' ? MEMBERS : [each])))
      wanted.add(pathOf(target, `policy-${name}`));
  }
  for (const notice of notices) wanted.add(pathOf('broker', `notice-${notice.split(' ')[1]}`));
  return wanted;
}

function pathOf(world: string, name: string): string {
  return `${world} /api/v1/namespaces/${NAMESPACE}/configmaps/${name}`;
}

async function ensureDefaults(client: Client, text: string): Promise<void> {
  if ((await client.find(ConfigMap, DEFAULTS)) === undefined)
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: DEFAULTS, data: { text } });
  else await client.patch(ConfigMap, DEFAULTS, 'merge', { data: { text } });
}

/** Users may act on objects that do not exist. */
async function quiet(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Every child that is wanted at the end of an act is there in the end. */
export function unservedOf(
  acts: readonly WorldsAct[],
  found: (world: string, kind: Kind, name: string) => boolean,
): string[] {
  return [...(acts.at(-1)?.moves.at(-1)?.wanted ?? [])].flatMap((each) => {
    const [world = '', path = ''] = each.split(' ');
    return found(world, ConfigMap, path.split('/').at(-1) ?? '') ? [] : [`${each} is missing without any fault`];
  });
}
