import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  ApiError,
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  object,
  Secret,
  string,
  systemClock,
} from '@capstan/kube';
import { apply, conditionType, operator, plan, reading, reconciler } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  recordingTransport,
  startIncarnation,
  type TestCluster,
} from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import type { PlanReport } from '../plan/format-plan.ts';

const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ image: string(), tier: string({ default: 'web' }), password: string({ optional: true }) }),
  status: object({ conditions: conditions() }),
  aliases: [{ kind: 'Place', normalise: ({ spec, ...rest }) => ({ ...rest, spec: (spec as { site: Json }).site }) }],
});
type Json = Record<string, string>;
const ready = conditionType<'Made'>('Ready');

const site = reconciler({
  name: 'site',
  resource: Site,
  // Its cache keeps no more of Deployments than their names.
  reads: [Secret, reading(Deployment, 'everywhere', { fields: [] })],
  writes: [Deployment, ConfigMap],
  reconcile({ object: { metadata, spec }, read, digest }) {
    const { name = '', namespace = '' } = metadata;
    const labels = { tier: spec.tier };
    const secret = spec.password === undefined ? undefined : read.get(Secret, { namespace, name: spec.password });
    const template = {
      metadata: { labels, annotations: { secret: digest(secret?.data ?? null) } },
      spec: { containers: [{ name: 'main', image: spec.image }] },
    };
    return plan({
      children: [
        apply(Deployment, { metadata: { name, namespace }, spec: { selector: { matchLabels: labels }, template } }),
        apply(ConfigMap, { metadata: { name, namespace }, data: { tier: spec.tier } }),
      ],
      conditions: [ready.isTrue('Made')],
    });
  },
});
const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [site] });
const modules = { '/home/user/sites.ts': { default: sites } };

const manifest = (image: string, more = '') => `
apiVersion: example.capstan.dev/v1
kind: Site
metadata: {name: home}
spec:
  image: ${image}
${more}`;

async function planned(text: string, transport: TestCluster['transport'], ...flags: string[]) {
  const argv = ['plan', '-f', 'change.yaml', '--operator', 'sites.ts', ...flags];
  return runTest(argv, { transport, modules, files: { '/home/user/change.yaml': text } });
}

/** A cluster in which the operator has run for `home`. */
describe('a plan', () => {
  let cluster: TestCluster;
  const home = { namespace: 'default', name: 'home' };
  before(async () => {
    const random = createRandom(1);
    cluster = await createTestCluster({ clock: systemClock, random, operators: [sites] });
    await cluster.client.create(Site, {
      apiVersion: Site.apiVersion,
      kind: Site.kind,
      metadata: home,
      spec: { image: 'a:1' },
    } as KindOf<typeof Site>);
    const program = startIncarnation({
      operators: [sites],
      transport: cluster.transport(),
      clock: systemClock,
      random,
    });
    while ((await cluster.client.find(Site, home))?.status?.conditions === undefined) await systemClock.yield();
    await program.stop();
  });
  after(() => cluster.close());

  test('tells what a change would roll, and writes nothing', async () => {
    const transport = recordingTransport(cluster.transport());
    const { code, out, err } = await planned(manifest('a:2'), () => transport);
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.match(out, /^Given:\n {2}~ change Site default\/home {2}by kubectl apply\n {6}spec\.image: "a:1" → "a:2"\n/);
    assert.match(out, /~ change Deployment default\/home \(rolls pods\) {2}by sites\.site for Site default\/home\n/);
    assert.match(out, / {6}spec\.template\.spec\.containers\[0\]\.image: "a:1" → "a:2"\n/);
    assert.match(out, /1 changed \(rolls pods\).* Nothing has been written\.\n$/);
    assert.deepEqual(transport.writes, []);
  });

  test('tells of an object which fields would change, and no others, however little of it caches keep', async () => {
    const { out } = await planned(manifest('a:2', '  tier: web'), cluster.transport, '-o', 'json');
    const { writes } = JSON.parse(out) as PlanReport;
    const { paths } = writes.find(({ object: name }) => name === 'Deployment default/home') ?? {};
    assert.deepEqual(paths, ['spec.template.spec.containers[0].image']);
  });

  test('tells what a new object would bring, as JSON too', async () => {
    const text = manifest('b:1').replace('home', 'other');
    const { code, out } = await planned(text, cluster.transport, '-o', 'json', '--exit-code');
    assert.equal(code, 3);
    const report = JSON.parse(out) as PlanReport;
    assert.deepEqual(report.given, [
      { verb: 'create', object: 'Site default/other', tool: 'kubectl apply', paths: [], changes: [] },
    ]);
    const created = report.writes.filter(({ verb }) => verb === 'apply').map(({ object }) => object);
    assert.deepEqual(created.toSorted(), ['ConfigMap default/other', 'Deployment default/other']);
    assert.ok(report.writes.some(({ verb, object }) => verb === 'status' && object === 'Site default/other'));
    assert.equal(await cluster.client.find(Site, { namespace: 'default', name: 'other' }), undefined);
  });

  test('shows statuses on request, after everything else', async () => {
    const text = manifest('b:1').replace('home', 'other');
    const { out } = await planned(text, cluster.transport);
    assert.doesNotMatch(out, /status of/);
    assert.match(out, /2 created \(starts pods\), 1 status \(see --show-status\)\. Nothing has been written\.\n$/);
    const { out: whole } = await planned(text, cluster.transport, '--show-status');
    assert.match(whole, /Then:\n[^]*\nStatuses:\n {2}~ status of Site default\/other [^]*1 status\. Nothing/);
  });

  test('prints the names of what would change, and YAML', async () => {
    const { out } = await planned(manifest('a:2'), cluster.transport, '-o', 'name');
    assert.equal(out, 'site/home\ndeployment/home\n');
    const { out: yaml } = await planned(manifest('a:2'), cluster.transport, '-o', 'yaml');
    assert.match(yaml, /^given:\n {2}- verb: change\n {4}object: Site default\/home\n/);
  });

  test('predicts what the server would refuse of the operators', async () => {
    const { code, out } = await planned(manifest('a:2', '  tier: "not a label!"'), cluster.transport);
    assert.equal(code, 0);
    assert.match(out, /The server would refuse:\n {2}! Deployment default\/home by sites\.site: .*not a label!/);
    assert.match(out, /, 1 refused\. Nothing has been written\.\n$/);
  });

  test('refuses a namespace that contradicts the manifest', async () => {
    const text = manifest('a:2').replace('name: home', 'name: home, namespace: default');
    const { code, err } = await planned(text, cluster.transport, '-n', 'other');
    assert.equal(code, 1);
    assert.match(err, /Site home is in the namespace default, and -n names other; leave -n out, or give -n default\n$/);
    assert.equal((await planned(text, cluster.transport, '-n', 'default')).code, 0);
  });

  describe('of a manifest without a field that the object has', () => {
    const kept = { namespace: 'default', name: 'kept' };
    const text = manifest('a:1').replace('home', 'kept');
    const site = {
      apiVersion: Site.apiVersion,
      kind: Site.kind,
      metadata: kept,
      spec: { image: 'a:1', password: 'pw' },
    };
    const given = async (...flags: string[]) => {
      const { out, err } = await planned(text, cluster.transport, ...flags);
      assert.equal(err, '');
      return out;
    };
    const removed = /change Site default\/kept {2}by ([^\n]+)\n {6}spec\.password: - "pw"\n/;
    const create = async (manager: string, annotations: Record<string, string> = {}) => {
      const metadata = { ...kept, annotations };
      await cluster.client.create(Site, { ...site, metadata } as KindOf<typeof Site>, { fieldManager: manager });
    };
    afterEach(() => cluster.client.delete(Site, kept));

    test('removes it when client-side apply wrote it', async () => {
      await create('kubectl-client-side-apply', {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(site),
      });
      assert.equal(removed.exec(await given())?.[1], 'kubectl apply');
    });

    test('keeps it when another client wrote it', async () => {
      await create('someone');
      assert.match(await given(), /= leave Site default\/kept {2}by kubectl apply\n/);
    });

    test('removes it when the field manager of server-side apply owns it', async () => {
      await cluster.client.apply(Site, site, { fieldManager: 'kubectl', force: false });
      assert.equal(removed.exec(await given())?.[1], 'kubectl apply --server-side');
      assert.match(await given('--field-manager=me'), /= leave Site .* --server-side --field-manager=me\n/);
    });

    test('removes it when client-side apply wrote it and server-side apply takes over', async () => {
      await create('kubectl-client-side-apply', {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(site),
      });
      assert.equal(removed.exec(await given('--server-side'))?.[1], 'kubectl apply --server-side');
    });

    test('removes it when the object is replaced', async () => {
      await create('someone');
      assert.equal(removed.exec(await given('--tool=replace'))?.[1], 'kubectl replace');
    });

    test('reports a conflict that server-side apply would fail with', async () => {
      await cluster.client.apply(Site, site, { fieldManager: 'other', force: false });
      const flags = ['--server-side', '--field-manager=me'];
      const { code, err } = await planned(text.replace('a:1', 'a:2'), cluster.transport, ...flags);
      assert.equal(code, 1);
      assert.match(
        err,
        /kubectl apply --server-side --field-manager=me would fail for Site default\/kept .*"other".*\.spec\.image/,
      );
      assert.match(err, /; give --force-conflicts if/);
      const forced = await planned(text.replace('a:1', 'a:2'), cluster.transport, ...flags, '--force-conflicts');
      assert.match(forced.out, /spec\.image: "a:1" → "a:2"\n/);
    });

    test('follows the deployed release of Helm, and deletes what a whole manifest leaves out', async () => {
      const annotations = { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'default' };
      await create('helm', annotations);
      const more = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more' }, data: {} };
      await cluster.client.create(ConfigMap, { ...more, metadata: { ...more.metadata, namespace: 'default' } });
      const release = gzipSync(
        JSON.stringify({ manifest: `---\n${JSON.stringify(site)}\n---\n${JSON.stringify(more)}\n` }),
      );
      const secret = { namespace: 'default', name: 'sh.helm.release.v1.shop.v1' };
      await cluster.client.create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...secret, labels: { owner: 'helm', name: 'shop', status: 'deployed', version: '1' } },
        data: { release: Buffer.from(release.toString('base64')).toString('base64') },
      });
      const part = await given();
      assert.equal(removed.exec(part)?.[1], 'helm upgrade shop');
      assert.match(part, /the Helm release shop has 1 more object, taken as unchanged/);
      assert.match(await given('--tool=helm'), /- delete ConfigMap default\/more {2}by helm upgrade shop\n/);
      await cluster.client.delete(Secret, secret);
      assert.match(await given(), /the Helm release shop cannot be read/);
    });
  });

  test('sees a manifest under an alias as its operator would', async () => {
    const text =
      'apiVersion: example.capstan.dev/v1\nkind: Place\nmetadata: {name: old}\nspec: {site: {image: "a:1"}}\n';
    const crd = structuredClone(Site.crd());
    const names = { plural: 'places', singular: 'place', kind: 'Place', listKind: 'PlaceList' };
    const placeCrd = { ...crd, metadata: { name: `places.${crd.spec.group}` }, spec: { ...crd.spec, names } };
    const { out } = await planned(`${JSON.stringify(placeCrd)}\n---\n${text}`, cluster.transport);
    assert.match(out, /\+ create Place default\/old {2}by kubectl apply\n/);
    assert.match(out, /\+ create Deployment default\/old .*by sites\.site for Site default\/old\n/);
  });

  test('tells that nothing follows from what is already so', async () => {
    const { code, out } = await planned(manifest('a:1'), cluster.transport, '--exit-code');
    assert.equal(code, 0);
    assert.match(out, /= leave Site default\/home {2}by kubectl apply\n/);
    assert.match(out, /Nothing follows from it\. Nothing has been written\.\n$/);
  });

  test('tells what a deletion takes with it', async () => {
    const { code, out } = await planned(manifest('a:1'), cluster.transport, '--delete');
    assert.equal(code, 0);
    assert.match(out, /- delete Site default\/home {2}by kubectl delete\n/);
    assert.match(out, /- delete Deployment default\/home \(stops pods\)/);
    assert.ok(await cluster.client.find(Deployment, home));
  });

  test('names kinds that the user may not read, and ends with 1', async () => {
    const body = { kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message: 'not for you' } as const;
    const isHidden = ({ path }: { path: string }) => path.includes('/configmaps');
    const refused403 = () =>
      new ApiError({ code: 403, status: body, method: 'GET', path: '/api/v1/configmaps', address: 'test' });
    const hiding = (own = cluster.transport()): typeof own => ({
      address: own.address,
      request: (request) =>
        isHidden(request)
          ? Promise.resolve({ status: 403, headers: { 'content-type': 'application/json' }, body })
          : own.request(request),
      watch: (request) => (isHidden(request) ? Promise.reject(refused403()) : own.watch(request)),
      close: () => own.close(),
    });
    const { code, out } = await planned(manifest('a:2'), () => hiding());
    assert.match(
      out,
      /Not known:\n {2}\? ConfigMap: you may not read objects of this kind; what depends on them is not known/,
    );
    assert.doesNotMatch(out, /change ConfigMap|Nothing follows/);
    assert.equal(code, 1);
    const applied = await planned(manifest('a:2'), () => hiding(), '--apply');
    assert.equal(applied.code, 1);
    assert.match(applied.err, /the plan is not applied: you may not read 1 kind that it depends on/);
    assert.equal((await cluster.client.get(Site, home)).spec.image, 'a:1');
  });

  test('reports of kinds that no reconciler reads that nothing can follow', async () => {
    const text = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: default}\n';
    const { out } = await planned(text, cluster.transport);
    assert.match(out, /Note:\n[^]* {2}none of the loaded operators reads ServiceAccount\n/);
  });

  const refused: [what: string, text: string, expected: RegExp][] = [
    [
      'an object that the schema refuses',
      manifest('[1]'),
      /would refuse Site default\/home of change.yaml, line 2: .*spec\.image.*; correct the manifest/,
    ],
    [
      'a kind that does not exist',
      manifest('a').replace('Site', 'Sight'),
      /change.yaml, line 2: Sight home cannot be planned, because the cluster does not serve its kind in example/,
    ],
    ['text that is no YAML', 'a: b\n  c: [', /change.yaml, line \d+ is not a manifest: .*; correct the file there/],
    [
      'a manifest without a name',
      'apiVersion: v1\nkind: Secret\n',
      /change.yaml, line 1 is not a manifest: it has no metadata.name/,
    ],
    ['an empty file', '# nothing\n', /change.yaml holds no manifest; give YAML or JSON files/],
  ];
  for (const [what, text, expected] of refused) {
    test(`refuses ${what} in one sentence`, async () => {
      const { code, out, err } = await planned(text, cluster.transport);
      assert.match(err, expected);
      assert.equal(err.trimEnd().split('\n').length, 1);
      assert.equal(out, '');
      assert.equal(code, 1);
    });
  }
});

test('a plan with the CRD of a kind works before the CRD is installed, and reports what it assumed', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
  const { code, out, err } = await planned(`${JSON.stringify(Site.crd())}\n---\n${manifest('a:1')}`, cluster.transport);
  await cluster.close();
  assert.equal(err, '');
  assert.equal(code, 0);
  assert.match(out, /\+ create Deployment default\/home \(starts pods\)/);
  assert.match(out, /Site default\/home: merged here, because the server could not be asked by a dry run/);
  assert.match(out, /Site\.example\.capstan\.dev is not installed in this cluster: taken as if there were none/);
});
