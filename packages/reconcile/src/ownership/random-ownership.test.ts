// A small operator that writes ConfigMaps in every mode, two owners with random plans, objects of a user under the same names, crashes
// between any two writes and restarts. In every history, the user's objects stay unchanged, and the owners come to rest.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  ConfigMap,
  type ConfigMap as ConfigMapObject,
  conditions,
  defineKind,
  type KindOf,
  type OwnerReference,
  object,
  optional,
  string,
} from '@capstan/kube';
import { createLives, createRandom, type Life, type Lives, objectOf, type SeededRandom } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, createOnly, keep, type Minter, mint, patch, plan, remove, share } from '../plan/index.ts';
import { reading, reconciler, writing } from '../reconciler.ts';

const Slot = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Slot',
  scope: 'Namespaced',
  spec: object({ wants: array(object({ mode: string(), name: string(), adopts: optional(string()) })) }),
  status: object({ conditions: conditions() }),
});
type Slot = KindOf<typeof Slot>;
type Want = Slot['spec']['wants'][number];

const MODES = ['apply', 'share', 'keep', 'createOnly', 'mint', 'patch', 'remove'] as const;
const OWNERS = ['a', 'b'];
const NAMES = ['one', 'two', 'three'];
const ref = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string, data: Record<string, string>): ConfigMapObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref(name),
  data,
});

/** No existing object is valid to it, so that every object that it may replace is replaced once. */
const stamp: Minter<{ by: string }, ConfigMapObject> = {
  name: 'stamp',
  valid: ({ data }, { by }) => data?.['by'] === by,
  make: ({ by }) => Promise.resolve({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { by } }),
};

const slots = reconciler<Slot>({
  name: 'slots',
  resource: Slot,
  reads: [reading(ConfigMap, 'everywhere')],
  writes: [writing(ConfigMap, ['apply', 'share', 'createOnly', 'mint', 'patch', 'remove'])],
  reconcile({ object: { metadata, spec }, read }) {
    const by = metadata.name ?? '';
    const named = (...modes: readonly string[]) => spec.wants.filter(({ mode }) => modes.includes(mode));
    return plan({
      children: named('apply', 'share', 'keep', 'createOnly', 'mint').map(({ mode, name, adopts }) => {
        if (mode === 'share') return share(ConfigMap, configMap(name, { [`slot-${by}`]: 'shared' }));
        if (mode === 'keep') return keep(ConfigMap, ref(name));
        if (mode === 'createOnly') return createOnly(ConfigMap, configMap(name, { by }));
        if (mode === 'mint') return mint(ConfigMap, ref(name), stamp, { by });
        return apply(ConfigMap, configMap(name, { by }), adopts === 'referring' ? { adopts } : {});
      }),
      patches: named('patch').map(({ name }) =>
        patch(ConfigMap, ref(name), [{ path: `/data/slot-${by}`, value: 'patched' }]),
      ),
      removals: named('remove').flatMap(({ name }) => {
        const found = read.get(ConfigMap, ref(name));
        return found === undefined ? [] : [remove(ConfigMap, found)];
      }),
    });
  },
});
const operators = [operator({ name: 'test', kinds: [Slot], reconcilers: [slots] })];

/** An object of the user, as it must stay. */
interface Kept {
  readonly uid: string;
  readonly text: string;
  readonly isControlled: boolean;
}

class History {
  readonly random: SeededRandom;
  readonly lives: Lives;
  readonly app: OwnerReference;
  life: Life;
  readonly users = new Map<string, Kept>();
  readonly wants = new Map<string, readonly Want[]>();
  /** Names that were shared once: a shared object stays when no owner shares it any more. */
  readonly shared = new Set<string>();
  crashes = 0;
  copies = 0;
  readonly log: string[] = [];

  constructor(lives: Lives, random: SeededRandom, app: OwnerReference, life: Life) {
    this.lives = lives;
    this.random = random;
    this.app = app;
    this.life = life;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.random.integer(0, items.length - 1)] as T;
  }

  async step(): Promise<void> {
    const moves = [
      this.edit,
      this.edit,
      this.edit,
      this.createUsers,
      this.createUsers,
      this.deleteUsers,
      this.copy,
      this.crash,
      this.restart,
    ];
    await this.pick(moves).call(this);
    if (this.random.chance(0.7)) await this.rest();
  }

  /** Creates, edits or deletes an owner. A new owner of an old name has another uid. */
  async edit(): Promise<void> {
    const { client } = this.lives;
    const owner = this.pick(OWNERS);
    const isThere = this.wants.has(owner);
    if (isThere && this.random.chance(0.25)) {
      this.log.push(`delete ${owner}`);
      this.wants.delete(owner);
      await client.delete(Slot, ref(owner));
      return this.rest();
    }
    const wants: Want[] = NAMES.filter(() => this.random.chance(0.6)).map((name) => ({
      mode: this.pick(MODES),
      name,
      ...(this.random.chance(0.3) && { adopts: 'referring' }),
    }));
    for (const { mode, name } of wants) if (mode === 'share') this.shared.add(name);
    this.log.push(`${owner} wants ${wants.map(({ mode, name }) => `${mode} ${name}`).join(', ')}`);
    this.wants.set(owner, wants);
    if (isThere) await client.patch(Slot, ref(owner), 'merge', { spec: { wants } });
    else await client.create(Slot, objectOf<Slot>(Slot, { metadata: ref(owner), spec: { wants } }));
  }

  async createUsers(): Promise<void> {
    const name = this.pick(NAMES);
    const { client } = this.lives;
    if ((await client.find(ConfigMap, ref(name))) !== undefined) return;
    const text = `of the user ${this.random.integer(0, 999)}`;
    const isControlled = this.random.chance(0.5);
    const object = configMap(name, { user: text });
    const ownerReferences = isControlled ? [this.app] : [];
    const created = await client
      .create(ConfigMap, { ...object, metadata: { ...object.metadata, ownerReferences } })
      .catch(() => undefined);
    if (created === undefined) return;
    this.log.push(`user creates ${name}${isControlled ? ', controlled' : ''}`);
    this.users.set(name, { uid: created.metadata.uid ?? '', text, isControlled });
  }

  async deleteUsers(): Promise<void> {
    const [name] = this.users.keys();
    if (name === undefined || !this.random.chance(0.5)) return;
    this.log.push(`user deletes ${name}`);
    this.users.delete(name);
    await this.lives.client.delete(ConfigMap, ref(name));
  }

  /** Copies an object with its labels and annotations, as `kubectl get -o yaml` and an edit of the name do. */
  async copy(): Promise<void> {
    const { client } = this.lives;
    const found = await client.find(ConfigMap, ref(this.pick(NAMES)));
    if (found === undefined) return;
    const name = `copy-${this.copies++}`;
    const { labels = {}, annotations = {} } = found.metadata;
    const text = `copied ${this.copies}`;
    const metadata = { ...ref(name), labels, annotations };
    const created = await client.create(ConfigMap, { ...configMap(name, { user: text }), metadata });
    this.log.push(`user copies ${found.metadata.name} to ${name}`);
    this.users.set(name, { uid: created.metadata.uid ?? '', text, isControlled: false });
  }

  async crash(): Promise<void> {
    this.life.dieAfterWrites(this.random.integer(0, 3));
    this.log.push('crash');
    await this.edit();
    await this.life.settle();
    if (this.life.isDead) this.crashes++;
    await this.restart();
  }

  async restart(): Promise<void> {
    await this.life.end();
    this.log.push('restart');
    this.life = await this.lives.begin();
  }

  async rest(): Promise<void> {
    await this.life.settle();
    if (this.life.isDead) await this.restart();
    await this.life.settle();
    await this.check();
  }

  async check(): Promise<void> {
    const { client } = this.lives;
    const story = this.log.join('; ');
    for (const [name, { uid, text, isControlled }] of this.users) {
      const now = await client.find(ConfigMap, ref(name));
      assert.equal(now?.metadata.uid, uid, `${name} of the user is gone or was replaced: ${story}`);
      assert.equal(now?.data?.['user'], text, `${name} of the user was overwritten: ${story}`);
      assert.equal(now?.data?.['by'], undefined, `${name} of the user was taken: ${story}`);
      const isShared = Object.values(now?.data ?? {}).includes('shared');
      assert.ok(!(isControlled && isShared), `${name} of another controller was shared: ${story}`);
    }
    for (const [owner, wants] of this.wants)
      for (const { mode, name } of wants) {
        const others = [...this.wants].filter(([one]) => one !== owner).flatMap(([, all]) => all);
        const rival = others.find((one) => one.name === name)?.mode;
        if (mode !== 'apply' || this.users.has(name) || this.shared.has(name)) continue;
        if (rival !== undefined && rival !== 'remove') continue;
        const now = await client.find(ConfigMap, ref(name));
        assert.equal(now?.data?.['by'], owner, `${name} is not the child of ${owner}: ${story}`);
      }
  }

  /** On a cluster at rest a new program writes nothing. */
  async checkRest(): Promise<void> {
    await this.rest();
    const versions = async () =>
      (await this.lives.client.list(ConfigMap, { namespace: 'default' })).items.map(
        ({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`,
      );
    const before = await versions();
    await this.restart();
    await this.life.settle();
    assert.deepEqual(await versions(), before, `a restart wrote: ${this.log.join('; ')}`);
  }
}

describe('two owners, a user, crashes and restarts', () => {
  let crashes = 0;
  for (let seed = 1; seed <= seeds(); seed++)
    test(`leave the user's objects alone and come to rest (seed ${seed})`, async () => {
      const lives = await createLives({ operators });
      const app = await lives.client.create(ConfigMap, configMap('app', {}));
      const reference = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'app',
        uid: app.metadata.uid ?? '',
        controller: true,
      };
      const history = new History(lives, createRandom(seed), reference, await lives.begin());
      try {
        for (let step = 0; step < 16; step++) await history.step();
        await history.checkRest();
        for (const owner of history.wants.keys()) await lives.client.delete(Slot, ref(owner));
        history.wants.clear();
        await history.rest();
      } finally {
        await history.life.end();
        await lives.close();
      }
      crashes += history.crashes;
    });
  test('died between writes often enough to mean something', () => {
    assert.ok(crashes >= 3, `${crashes} crashes`);
  });
});

/** More by `OWNERSHIP_SEEDS=200`. */
function seeds(): number {
  return Number(process.env['OWNERSHIP_SEEDS'] ?? 16);
}
