// Manifests that cannot be planned: each is named, nothing is claimed about any, and the command ends with 1.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError, ConfigMap, type KindOf, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster, type TestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import { manifest, Site, sites } from './sites.test-support.ts';

const modules = { '/home/user/sites.ts': { default: sites('') } };
const ref = { namespace: 'default', name: 'home' };
const site = (name = 'home') =>
  ({
    apiVersion: Site.apiVersion,
    kind: Site.kind,
    metadata: { ...ref, name },
    spec: { image: 'a:1' },
  }) as KindOf<typeof Site>;

let here: TestCluster;
let elsewhere: TestCluster;
before(async () => {
  const create = (seed: number) =>
    createTestCluster({ clock: systemClock, random: createRandom(seed), operators: [sites('')] });
  [here, elsewhere] = await Promise.all([create(1), create(2)]);
});
after(() => Promise.all([here.close(), elsewhere.close()]));

async function planned(
  text: string,
  flags: readonly string[] = [],
  transport: TestCluster['transport'] = here.transport,
) {
  return runTest(['plan', '-f', 'change.yaml', '--operator', 'sites.ts', ...flags], {
    transport,
    modules,
    files: { '/home/user/change.yaml': text },
  });
}

/** Nothing is claimed: not even about the manifests that are fine. */
async function assertRefused(text: string, expected: readonly RegExp[], flags: readonly string[] = []): Promise<void> {
  const { code, out, err } = await planned(text, flags);
  for (const one of expected) assert.match(err, one);
  assert.equal(out, '');
  assert.equal(code, 1);
}

test('kinds that are not served are all named', async () => {
  const unknown = (kind: string) => `apiVersion: example.org/v1\nkind: ${kind}\nmetadata: {name: a}\n`;
  await assertRefused(`${manifest('a:1')}---\n${unknown('Boat')}---\n${unknown('Barge')}`, [
    /2 manifests cannot be planned:\n/,
    /line 6: Boat a cannot be planned, because the cluster does not serve its kind in example\.org\/v1/,
    /line 10: Barge a cannot be planned, because the cluster does not serve its kind in example\.org\/v1/,
  ]);
});

test('an object of a kind that a CRD beside it defines is planned', async () => {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boats.example.org' },
    spec: {
      group: 'example.org',
      names: { kind: 'Boat', plural: 'boats' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const boat = 'apiVersion: example.org/v1\nkind: Boat\nmetadata: {name: a}\n';
  const { code, out, err } = await planned(`${JSON.stringify(crd)}\n---\n${boat}`);
  assert.equal(err, '');
  assert.match(out, /\+ create Boat default\/a/);
  assert.equal(code, 0);
});

test('an object in a namespace that does not exist and is not given is refused, as the server does', async () => {
  const home = manifest('a:1').replace('name: home', 'name: home, namespace: nowhere');
  await assertRefused(home, [
    /would refuse Site nowhere\/home of change\.yaml, line 1: the namespace nowhere does not exist; create it/,
  ]);
  const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: nowhere}\n';
  const { code, out, err } = await planned(`${namespace}---\n${home}`);
  assert.equal(err, '');
  assert.match(out, /create Site nowhere\/home/);
  assert.equal(code, 0);
});

test("an operator's own kind without its CRD is named, and nothing is claimed about it", async () => {
  const empty = await createTestCluster({ clock: systemClock, random: createRandom(3) });
  try {
    for (const flags of [[], ['--delete']]) {
      const { code, out, err } = await planned(
        `${manifest('a:1')}---\n${manifest('a:1', 'other')}`,
        flags,
        empty.transport,
      );
      assert.match(err, /line 1: Site home cannot be planned, because the cluster does not serve its kind in example/);
      assert.match(err, /line 6: Site other cannot be planned/);
      assert.match(err, /install its CRD/);
      assert.equal(out, '');
      assert.equal(code, 1);
    }
  } finally {
    await empty.close();
  }
});

test('a field that the kind does not have, and one with a wrong value, are named', async () => {
  const misspelt = manifest('a:1').replace('image:', 'imaje: b, image:');
  const wrong = manifest('a:1', 'other').replace('"a:1"', '[1]');
  await assertRefused(`${misspelt}---\n${wrong}`, [
    /would refuse Site default\/home of change\.yaml, line 1: .*spec\.imaje/,
    /would refuse Site default\/other of change\.yaml, line 6: .*spec\.image/,
  ]);
});

test('an object that was read from another cluster is not taken for the one of the same name here', async () => {
  await here.client.create(Site, site());
  const { metadata } = await elsewhere.client.create(Site, site());
  const { metadata: only } = await elsewhere.client.create(Site, site('only-there'));
  const exported = (name: string, uid = '') => manifest('a:2', name).replace('}\n', `, uid: "${uid}"}\n`);
  const text = `${exported('home', metadata.uid)}---\n${exported('only-there', only.uid)}`;
  const expected = [
    /Site default\/home has the uid of another object; in this cluster it is [-0-9a-f]+: it is of another cluster/,
    /Site default\/only-there has the uid of another object; in this cluster it does not exist/,
  ];
  await assertRefused(text, expected);
  await assertRefused(text, expected, ['--delete']);
  const fine = await planned(exported('home', (await here.client.get(Site, ref)).metadata.uid));
  assert.match(fine.out, /change Site default\/home/);
  assert.equal(fine.code, 0, fine.err);
});

test('a contradicting -n is reported for each manifest', async () => {
  const placed = (name: string) => manifest('a:2', name).replace(`name: ${name}`, `name: ${name}, namespace: shop`);
  await assertRefused(
    `${placed('one')}---\n${placed('two')}`,
    [/Site one is in the namespace shop, and -n names other/, /Site two is in the namespace shop, and -n names other/],
    ['-n', 'other'],
  );
});

test('a user without any rights sees what may not be read, and no prediction', async () => {
  const body = { kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message: 'not for you' } as const;
  const own = here.transport();
  const denying: typeof own = {
    address: own.address,
    request: () => Promise.resolve({ status: 403, headers: { 'content-type': 'application/json' }, body }),
    watch: ({ path }) =>
      Promise.reject(new ApiError({ code: 403, status: body, method: 'GET', path, address: 'test' })),
    close: () => own.close(),
  };
  const { code, out, err } = await planned(`${manifest('a:2')}---\n${manifest('a:2', 'other')}`, [], () => denying);
  assert.match(err, /Site default\/home.*not for you/);
  assert.match(err, /Site default\/other.*not for you/);
  assert.equal(out, '');
  assert.equal(code, 1);
  assert.equal(await here.client.find(ConfigMap, ref), undefined);
});
