// Each prediction is carried out by the real kubectl or helm on a real API server, and the object is compared with it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  array,
  ConfigMap,
  CustomResourceDefinition,
  canonicalJson,
  Deployment,
  defineKind,
  integer,
  type Kind,
  type KubeObject,
  map,
  object,
  Service,
  string,
  type UnknownObject,
} from '@capstan/kube';
import { createRandom, findBinaries, type RealCluster, type SeededRandom, startRealCluster } from '@capstan/testing';
import { type GivenChange, wouldBecome } from '../would-become.ts';
import type { ToolChoice } from './assumed-tool.ts';
import { helmReleases } from './helm-releases.ts';
import { mergeSchemas } from './strategic-patch.ts';

const binaries = findBinaries();
const HELM = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache/capstan/real'), 'helm/helm');
const skip = 'missing' in binaries ? binaries.missing : false;
const withoutHelm = existsSync(HELM) ? false : 'helm is not there: npm run setup:real -- helm';
const CASES = Number(process.env['CAPSTAN_TOOL_CASES'] ?? 8);
const NAMESPACE = 'default';

const Widget = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Widget',
  scope: 'Namespaced',
  spec: object({
    size: integer({ default: 1 }),
    colour: string({ optional: true }),
    parts: array(object({ name: string(), weight: integer({ optional: true }) }), { optional: true }),
    options: map(string(), { optional: true }),
    deep: object({ a: string({ optional: true }), b: string({ default: 'x' }) }, { optional: true }),
  }),
});

describe('the prediction of a tool', { skip }, () => {
  let cluster: RealCluster;
  let folder: string;
  before(async () => {
    cluster = await startRealCluster({ controllers: false });
    folder = await mkdtemp(join(tmpdir(), 'capstan-tools-'));
    await cluster.client.create(CustomResourceDefinition, Widget.crd());
    for (;;) {
      const crd = await cluster.client.find(CustomResourceDefinition, { name: 'widgets.example.capstan.dev' });
      if (crd?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')) break;
    }
  });
  after(async () => {
    await cluster?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ways: [first: Way, second: Way | 'default'][] = [
    ['apply', 'default'],
    ['server-side', 'default'],
    ['replace', 'default'],
    ['create', 'default'],
    ['apply', 'server-side'],
    ['server-side', 'apply'],
    ['apply', 'replace'],
    ['server-side', 'other-manager'],
    ['other-manager', 'default'],
  ];
  for (const [first, second] of ways) {
    test(`is what it does: ${first}, then ${second === 'default' ? 'the tool that manages the object' : second}`, async () => {
      await assertPredicted(first, second, false);
    });
  }
  test('is what it does: helm, then the tool that manages the object', { skip: withoutHelm }, async () => {
    await assertPredicted('helm', 'default', true);
  });
  test('is what it does: helm, then apply', { skip: withoutHelm }, async () => {
    await assertPredicted('helm', 'apply', true);
  });

  /** Writes random manifests by the first way, lets others edit them, predicts the second way, and carries it out. */
  async function assertPredicted(first: Way, second: Way | 'default', isHelm: boolean): Promise<void> {
    const cases = isHelm ? Math.ceil(CASES / 4) : CASES;
    for (let seed = 1; seed <= cases; seed++) {
      const random = createRandom(seed).fork(`${first} ${second}`);
      const maker = random.pick(MAKERS);
      const name = `${first}-${second}-${seed}`;
      const [made, two] = [maker(name, random), maker(name, random)];
      // A replacement that sets nothing leaves no trace of the tool.
      const { annotations } = made.metadata;
      const marked = { ...made.metadata, annotations: { ...annotations, replaced: 'yes' } };
      const one = first === 'replace' ? { ...made, metadata: marked } : made;
      const kind = KINDS[one.kind];
      assert.ok(kind);
      const ref = { namespace: NAMESPACE, name };
      assert.equal(await carriedOut(first, one), undefined, `${first} of ${canonicalJson(one)}`);
      if (random.chance(0.5)) await foreignEdit(kind, name, random);
      const story = async () =>
        `seed ${seed}: ${canonicalJson(one)}\n→ ${canonicalJson(two)}\non ${canonicalJson(await cluster.client.get(kind, ref))}`;
      const told = await story();
      const predicted = await prediction(kind, two, second === 'default' ? (DEFAULTS[first] ?? {}) : CHOICES[second]);
      // The tool applies an object that was only created before.
      const same = first === 'create' ? 'apply' : first;
      const way = second === 'default' ? same : second;
      if (!(predicted instanceof Error))
        assert.match(predicted.tool, TOOL_NAMES[way], 'the output names the tool that is assumed');
      const refusal = await carriedOut(way, two);
      if (predicted instanceof Error) {
        assert.ok(refusal, `${told}\nwas predicted to fail: ${predicted.message}`);
        continue;
      }
      assert.equal(refusal, undefined, told);
      const found = await cluster.client.get<KubeObject>(kind, ref);
      assert.deepEqual(compared(predicted.after), compared(found), told);
    }
  }

  async function prediction(kind: Kind, manifest: UnknownObject, choice: ToolChoice): Promise<GivenChange | Error> {
    const { client } = cluster;
    const signal = new AbortController().signal;
    const predicting = { client, signal, schemas: mergeSchemas(), releases: helmReleases(client, signal), choice };
    const placed = { ...manifest, metadata: { ...manifest.metadata, namespace: NAMESPACE } };
    try {
      return await wouldBecome(predicting, kind, { place: 'the test', object: placed });
    } catch (error) {
      assert.ok(error instanceof Error);
      return error;
    }
  }

  async function foreignEdit(kind: Kind, name: string, random: SeededRandom): Promise<void> {
    const ref = { namespace: NAMESPACE, name };
    const options = { fieldManager: 'someone' };
    await cluster.client.patch(kind, ref, 'merge', { metadata: { annotations: { theirs: 'x' } } }, options);
    if (kind === Deployment && random.chance(0.7)) {
      const env = [{ name: 'THEIRS', value: '1' }];
      const template = { spec: { containers: [{ name: 'main', env }] } };
      await cluster.client.patch(kind, ref, 'strategic', { spec: { replicas: 7, template } }, options);
    }
    if (kind === Widget) await cluster.client.patch(kind, ref, 'merge', { spec: { colour: 'theirs' } }, options);
  }

  /** Undefined when the tool succeeds, else its message. */
  async function carriedOut(way: Way, manifest: UnknownObject): Promise<string | undefined> {
    const file = join(folder, 'manifest.json');
    const other = join(folder, 'other.json');
    const flags = ['--kubeconfig', cluster.kubeconfigFile, '-n', NAMESPACE];
    const { name = '' } = manifest.metadata;
    if (way === 'helm') {
      const chart = join(folder, name);
      await mkdir(join(chart, 'templates'), { recursive: true });
      await writeFile(join(chart, 'Chart.yaml'), `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`);
      await writeFile(join(chart, 'templates', 'all.yaml'), JSON.stringify(manifest));
      return run(HELM, ['upgrade', '--install', name, chart, ...flags]);
    }
    await writeFile(file, JSON.stringify(manifest));
    await writeFile(other, JSON.stringify({ ...manifest, metadata: { name, annotations: { before: 'x' } } }));
    const kubectl = (...args: string[]) => run(cluster.program('kubectl'), [...args, '-f', file, ...flags]);
    switch (way) {
      case 'create':
        return kubectl('create');
      case 'apply':
        return kubectl('apply');
      case 'replace':
        return spawnSync(cluster.program('kubectl'), ['get', '-f', file, ...flags]).status === 0
          ? kubectl('replace')
          : (run(cluster.program('kubectl'), ['create', '-f', other, ...flags]) ?? kubectl('replace'));
      case 'server-side':
        return kubectl('apply', '--server-side');
      case 'other-manager':
        return kubectl('apply', '--server-side', '--field-manager=other', '--force-conflicts');
    }
  }

  function run(program: string, args: readonly string[]): string | undefined {
    const env = { PATH: process.env['PATH'], HOME: folder };
    const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8' });
    return status === 0 ? undefined : stderr || 'it failed';
  }
});

type Way = 'apply' | 'server-side' | 'other-manager' | 'replace' | 'create' | 'helm';

const CHOICES: Record<Way, ToolChoice> = {
  apply: { tool: 'client-side-apply' },
  create: {},
  'server-side': { tool: 'server-side-apply', fieldManager: 'kubectl' },
  'other-manager': { tool: 'server-side-apply', fieldManager: 'other', forceConflicts: true },
  replace: { tool: 'replace' },
  helm: { tool: 'helm' },
};

const TOOL_NAMES: Record<Way, RegExp> = {
  apply: /^kubectl apply$/,
  create: /^$/,
  'server-side': /^kubectl apply --server-side$/,
  'other-manager': /^kubectl apply --server-side --field-manager=other( --force-conflicts)?$/,
  replace: /^kubectl replace$/,
  helm: /^helm upgrade /,
};

/** The tool is found; that it forces conflicts must be given. */
const DEFAULTS: Partial<Record<Way, ToolChoice>> = { 'other-manager': { forceConflicts: true } };

const KINDS: Readonly<Record<string, Kind>> = { Deployment, Service, ConfigMap, Widget };

/** Content and generation; last-applied-configuration by its value. */
function compared(one: KubeObject | undefined): unknown {
  const { metadata, status: _status, ...content } = (one ?? {}) as KubeObject & { status?: unknown };
  const { labels, annotations, finalizers, generation } = metadata;
  const { 'kubectl.kubernetes.io/last-applied-configuration': applied, ...others } = annotations ?? {};
  const last: unknown = applied === undefined ? undefined : JSON.parse(applied);
  return JSON.parse(
    canonicalJson({ ...content, metadata: { labels, others, finalizers, generation, isKept: last !== undefined } }),
  );
}

const MAKERS: readonly ((name: string, random: SeededRandom) => UnknownObject)[] = [
  deployment,
  deployment,
  service,
  configMap,
  widget,
  widget,
];

function metadataOf(name: string, random: SeededRandom) {
  return {
    name,
    ...some(random, { labels: keys(random, ['a', 'b', 'c']), annotations: keys(random, ['note', 'owner']) }),
  };
}

function deployment(name: string, random: SeededRandom): UnknownObject {
  const container = (container: string) => ({
    name: container,
    image: random.pick(['a:1', 'a:2']),
    ...some(random, {
      env: subset(random, ['A', 'B', 'C']).map((one) => ({ name: one, value: random.pick(['1', '2']) })),
      ports: subset(random, [80, 81, 82]).map((containerPort) => ({ containerPort })),
      args: subset(random, ['-x', '-y', '-z']),
      resources: { limits: keys(random, ['cpu', 'memory']) },
      workingDir: '/tmp',
    }),
  });
  const volume = (one: string) =>
    random.pick([
      { name: one, emptyDir: {} },
      { name: one, configMap: { name: 'cm', optional: true } },
      { name: one, secret: { secretName: 's' } },
    ]);
  const containers = ['main', ...subset(random, ['side', 'other'])].map(container);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(name, random),
    spec: {
      selector: { matchLabels: { app: name } },
      ...some(random, {
        replicas: random.integer(0, 3),
        strategy: random.pick([
          { type: 'Recreate' },
          { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        ]),
        minReadySeconds: 3,
      }),
      template: {
        metadata: { labels: { app: name }, ...some(random, { annotations: keys(random, ['x', 'y']) }) },
        spec: {
          containers: random.chance(0.5) ? containers : containers.toReversed(),
          ...some(random, {
            volumes: subset(random, ['v1', 'v2', 'v3']).map(volume),
            nodeSelector: keys(random, ['disk', 'zone']),
            tolerations: subset(random, ['k1', 'k2']).map((key) => ({ key, operator: 'Exists' })),
            imagePullSecrets: subset(random, ['p1', 'p2']).map((one) => ({ name: one })),
            terminationGracePeriodSeconds: 5,
            hostAliases: subset(random, ['10.0.0.1', '10.0.0.2']).map((ip) => ({ ip, hostnames: ['h'] })),
          }),
        },
      },
    },
  };
}

function service(name: string, random: SeededRandom): UnknownObject {
  const ports = subset(random, [80, 81, 82]);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(name, random),
    spec: {
      ports: (ports.length === 0 ? [80] : ports).map((port) => ({
        name: `p${port}`,
        port,
        targetPort: random.integer(1, 3),
      })),
      ...some(random, { selector: keys(random, ['app', 'tier']), sessionAffinity: 'ClientIP' }),
    },
  };
}

function configMap(name: string, random: SeededRandom): UnknownObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadataOf(name, random),
    ...some(random, { data: keys(random, ['a', 'b', 'c']), binaryData: { z: 'eA==' } }),
  };
}

function widget(name: string, random: SeededRandom): UnknownObject {
  return {
    apiVersion: 'example.capstan.dev/v1',
    kind: 'Widget',
    metadata: metadataOf(name, random),
    spec: some(random, {
      size: random.integer(1, 3),
      colour: random.pick(['red', 'blue']),
      parts: subset(random, ['p', 'q', 'r']).map((one) => ({ name: one, ...some(random, { weight: 2 }) })),
      options: keys(random, ['a', 'b', 'c']),
      deep: some(random, { a: 'a', b: 'b' }),
    }),
  };
}

function some(random: SeededRandom, fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.6)));
}

function subset<T>(random: SeededRandom, all: readonly T[]): T[] {
  return all.filter(() => random.chance(0.5));
}

function keys(random: SeededRandom, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(subset(random, names).map((name) => [name, random.pick(['1', '2'])]));
}
