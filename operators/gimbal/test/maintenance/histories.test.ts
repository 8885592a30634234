// Random histories: backends go into maintenance and return, users edit a route, the operator is restarted in between. At the end, with all
// backends back, the route is as its user meant it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chosenServer, createRandom, runs } from '@capstan/testing';
import { HTTPProxy, type Played, played, proxy, ref, type Spec, type Weight } from './fixtures.ts';

const NAMES = ['x-a', 'x-b', 'y-a', 'y-b', 'z-c', 'local-l'];
type Services = Spec['routes'][number]['services'];

/** The edits of users to a route; some are more frequent. */
const EDITS = ['weigh', 'weigh', 'weigh', 'port', 'add', 'remove'] as const;

async function history(seed: number): Promise<void> {
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T => random.pick(items);
  const weight = (): Weight => pick(['_', 0, 1, 5, 50, 100] as const);
  const first = NAMES.filter(() => random() < 0.5);
  const services = Object.fromEntries((first.length === 0 ? ['x-a'] : first).map((name) => [name, weight()]));
  await played(
    { objects: [proxy('r', services)], x: { maintenance: { onNoCapacity: pick(['Zero', 'Keep', 'Reject']) } } },
    async (stage) => {
      const meant = structuredClone((await stage.route()) as unknown as { spec: Spec }).spec;
      for (let step = 0; step < 12; step++) {
        const what = random();
        if (what < 0.45) await stage.setStatus(pick(['x', 'y', 'z']), pick(['Maintenance', 'Enabled']));
        else if (what < 0.55) await stage.restart();
        else await edit(stage, meant, pick(EDITS), pick, weight);
      }
      for (const name of ['x', 'y', 'z']) await stage.setStatus(name, 'Enabled');
      const { spec, metadata } = (await stage.route()) as unknown as { spec: Spec; metadata: { annotations?: object } };
      assert.deepEqual(spec, meant, `seed ${seed}`);
      assert.deepEqual(metadata.annotations ?? {}, {}, `seed ${seed}`);
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, [], `seed ${seed}`);
    },
  );
}

/** A user's edit, applied to the route and to the intended route. */
async function edit(
  stage: Played,
  meant: Spec,
  what: (typeof EDITS)[number],
  pick: <T>(items: readonly T[]) => T,
  weight: () => Weight,
): Promise<void> {
  const listOf = (spec: Spec): Services => spec.routes[0]?.services ?? [];
  const current = (await stage.client.get(HTTPProxy, ref('r'))) as unknown as { spec: Spec };
  const there = listOf(current.spec);
  const to = weight();
  const weigh = (entry: Services[number] | undefined) => {
    if (entry === undefined) return;
    if (to === '_') delete entry.weight;
    else entry.weight = to;
  };
  const missing = NAMES.filter((name) => there.every((entry) => entry.name !== name));
  const chosen = pick(there);
  if (what === 'add' && missing.length > 0) {
    const added = { name: pick(missing), port: 80, ...(to === '_' ? {} : { weight: to }) };
    listOf(meant).push(structuredClone(added));
    await stage.edit((spec) => void listOf(spec).push(added));
  } else if (what === 'remove' && there.length > 1) {
    const without = (spec: Spec) => {
      const [rule] = spec.routes;
      if (rule !== undefined) rule.services = rule.services.filter(({ name }) => name !== chosen.name);
    };
    without(meant);
    await stage.edit(without);
  } else if (what === 'port') {
    const port = pick([80, 81, 8080]);
    const move = (spec: Spec) => {
      const entry = listOf(spec).find(({ name }) => name === chosen.name);
      if (entry !== undefined) entry.port = port;
    };
    move(meant);
    await stage.edit(move);
    // Writing the present value is an edit that no one can see.
  } else if (what === 'weigh' && (chosen.weight ?? '_') !== to) {
    weigh(listOf(meant).find(({ name }) => name === chosen.name));
    await stage.edit((spec) => weigh(listOf(spec).find(({ name }) => name === chosen.name)));
  }
}

describe('whatever happened', () => {
  // On a real server a history takes seconds: half of them there.
  const count = chosenServer() === 'real' ? runs(4, 20) : runs(25, 2000, 'DRAIN_HISTORIES');
  const seeds =
    process.env['SIMULATION_SEED'] === undefined ? [...Array(count).keys()] : [Number(process.env['SIMULATION_SEED'])];
  for (const part of [0, 1, 2, 3])
    test(`users find what they meant, ${part + 1} of 4`, async () => {
      for (const seed of seeds.filter((one) => one % 4 === part)) await history(seed);
    });
});
