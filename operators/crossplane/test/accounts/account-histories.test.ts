// Random histories of packages that share ServiceAccounts: they come and go, change their configuration, configurations give accounts other
// names, and the operator dies between any two writes. At the end exactly the desired accounts exist.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClusterRoleBinding, Deployment, ServiceAccount } from '@capstan/kube';
import { chosenServer, createLives, createRandom, type Lives, runs } from '@capstan/testing';
import { DeploymentRuntimeConfig, Provider } from '../../src/kinds/index.ts';
import { RUNTIME_ACCOUNT_LABEL } from '../../src/workload/accounts.ts';
import {
  crd,
  fakeRegistry,
  meta,
  operatorWith,
  provider,
  REGISTRY,
  ready,
  runtimeConfig,
  SYSTEM,
  startOfStage,
} from '../fixtures.ts';

const PACKAGES = ['one', 'two', 'three'];
const CONFIGS = ['a', 'b'];
const ACCOUNTS = ['shared', 'elsewhere', undefined];
const image = (name: string) => `${REGISTRY}/team/${name}:v1`;
const accountSpec = (account: string | undefined) => ({
  serviceAccountTemplate: account === undefined ? {} : { metadata: { name: account } },
});

/** Runs the program until it has rested, or has died after so many writes. */
async function live(lives: Lives, writes?: number): Promise<void> {
  const life = await lives.begin();
  if (writes !== undefined) life.dieAfterWrites(writes);
  await life.settle();
  await life.end();
}

async function history(seed: number): Promise<void> {
  const random = createRandom(seed);
  const registry = fakeRegistry();
  for (const name of PACKAGES)
    registry.push(image(name), [meta('Provider', {}, { name }), crd(`Kind${name}`, `${name}.example.org`)]);
  const time = { now: startOfStage };
  const operators = [operatorWith({ registry, settings: { now: () => time.now() } })];
  const lives = await createLives({ operators });
  time.now = () => lives.clock.now();
  const { client } = lives;
  const configs = new Map<string, string | undefined>();
  const packages = new Map<string, string>();
  try {
    for (const name of CONFIGS) {
      configs.set(name, random.pick(ACCOUNTS));
      await client.create(...runtimeConfig(name, accountSpec(configs.get(name))));
    }
    for (let step = 0; step < 8; step++) {
      const name = random.pick(PACKAGES);
      const config = random.pick(CONFIGS);
      const what = random();
      if (what < 0.25) {
        configs.set(config, random.pick(ACCOUNTS));
        const present = await client.get(DeploymentRuntimeConfig, { name: config });
        await client.update(DeploymentRuntimeConfig, { ...present, spec: accountSpec(configs.get(config)) });
      } else if (!packages.has(name)) {
        const found = await client.find(Provider, { name });
        if (found !== undefined) continue;
        packages.set(name, config);
        await client.create(...provider(name, { package: image(name), runtimeConfigRef: { name: config } }));
      } else if (what < 0.7) {
        packages.set(name, config);
        await client.patch(Provider, { name }, 'merge', { spec: { runtimeConfigRef: { name: config } } });
      } else {
        packages.delete(name);
        await client.delete(Provider, { name });
      }
      if (random() < 0.5) await live(lives, random.integer(0, 12));
      if (random() < 0.5) await rest();
    }
    for (let turn = 0; turn < 3; turn++) await rest();
    const wanted = new Map([...packages].map(([name, config]) => [name, configs.get(config)]));
    const { items: accounts } = await client.list(ServiceAccount, { namespace: SYSTEM });
    const shared = accounts.filter(({ metadata }) => metadata.labels?.[RUNTIME_ACCOUNT_LABEL] === 'true');
    assert.deepEqual(
      shared.map(({ metadata }) => metadata.name ?? '').toSorted(),
      [...new Set([...wanted.values()].filter((one) => one !== undefined))].toSorted(),
      `seed ${seed}`,
    );
    const { items: bindings } = await client.list(ClusterRoleBinding, {});
    const subjects = bindings
      .filter(({ metadata }) => metadata.name?.startsWith('crossplane:provider:'))
      .flatMap((binding) => (binding.subjects ?? []).map((subject) => subject.name))
      .filter((name) => ACCOUNTS.includes(name));
    assert.deepEqual(
      subjects.toSorted(),
      [...wanted.values()].filter((one) => one !== undefined).toSorted(),
      `subjects of seed ${seed}`,
    );
    const left = accounts.length;
    await rest();
    assert.equal((await client.list(ServiceAccount, { namespace: SYSTEM })).items.length, left, `seed ${seed}`);
  } finally {
    await lives.close();
  }

  /** Everything that there is to run runs. */
  async function rest(): Promise<void> {
    await live(lives);
    const { items } = await client.list(Deployment, { namespace: SYSTEM });
    for (const deployment of items) await ready(client, deployment);
    await live(lives);
  }
}

// Each takes seconds on a real server.
const count = chosenServer() === 'real' ? runs(3, 20) : runs(10, 2000, 'ACCOUNT_HISTORIES');
// In 120 the package that created an account leaves it before the next one has come to it.
const seeds =
  process.env['SIMULATION_SEED'] === undefined
    ? [...new Set([...Array(count).keys(), 120])]
    : [Number(process.env['SIMULATION_SEED'])];
describe('accounts are those that packages want', () => {
  for (const seed of seeds) test(`history ${seed}`, () => history(seed));
});
