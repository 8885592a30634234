// The chart and the base for kustomize give exactly the objects that `capstan install` applies, by the real helm and kubectl.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  BUILT_IN_OPERATORS,
  type Installation,
  installationObjects,
  operatorArgs,
  VERSION,
} from '@capstan/cli/install';
import type { Deployment, KubeObject } from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { configured, parseFlags } from '@capstan/reconcile/command-line';
import { parseAllDocuments } from 'yaml';
import { writePackages } from './charts.ts';

const HELM = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache/capstan/real'), 'helm/helm');
const KUBECTL = process.env['KUBECTL'] ?? 'kubectl';
const withoutHelm = existsSync(HELM) ? false : 'helm is not there: npm run setup:real -- helm';
const withoutKubectl = spawnSync(KUBECTL, ['version', '--client']).status === 0 ? false : 'kubectl is not installed';

describe('the packages of an installation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-chart-'));
  let operators: Installation['operators'] = [];
  before(async () => {
    await writePackages(new URL('../../', import.meta.url).pathname, folder);
    operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  });
  after(() => rmSync(folder, { recursive: true }));
  const installed = (settings: Partial<Installation> = {}, flags: Parameters<typeof operatorArgs>[1] = {}) => {
    const base = { operators, namespace: SYSTEM_NAMESPACE, image: `capstan:${VERSION}`, version: VERSION, replicas: 2 };
    const given = { ...base, isOneProgram: false, hasServiceMonitors: false, admission: [], ...settings };
    const args = operatorArgs(given.operators, flags, given.image);
    const { foundations, workloads } = installationObjects({ ...given, args });
    return [...foundations, ...[...workloads.values()].flat()];
  };
  const helm = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(HELM, args, {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
      maxBuffer: 1 << 28,
    });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const chart = join(folder, 'chart/capstan');
  const rendered = (...args: string[]) => helm('template', 'capstan', chart, '--kube-version', '1.30.0', ...args);

  test('helm finds nothing wrong with the chart', { skip: withoutHelm }, () => {
    assert.match(helm('lint', '--strict', chart), /0 chart\(s\) failed/);
  });

  test('helm renders what capstan install applies', { skip: withoutHelm }, () => {
    const text = rendered('--namespace', SYSTEM_NAMESPACE);
    const expected = installed().filter(isReleased(SYSTEM_NAMESPACE));
    assertSame(objectsIn(text).map(asInstalled), expected);
  });

  test('helm renders another namespace, image, number of replicas and choice of operators', {
    skip: withoutHelm,
  }, () => {
    const set = ['image=registry.example.com/capstan:9', 'replicas=1', 'operators.sesame=false'];
    set.push('serviceMonitor=true', 'admission=true');
    const text = rendered('--namespace', 'edge', '--set', set.join(','));
    const expected = installed({
      namespace: 'edge',
      image: 'registry.example.com/capstan:9',
      replicas: 1,
      hasServiceMonitors: true,
      admission: operators,
      operators: operators.filter(({ name }) => name !== 'sesame'),
    }).filter(isReleased('edge'));
    assertSame(objectsIn(text).map(asInstalled), expected);
  });

  test('helm renders one program with flags of operators as capstan install does', { skip: withoutHelm }, () => {
    const set = ['oneProgram=true', 'operators.gimbal=false', 'imageRegistry=registry.example.com/team'];
    set.push('flags.sesame.envoy-image=envoy:1', 'flags.kroxylicious.sidecar-webhook=false');
    const text = rendered('--namespace', SYSTEM_NAMESPACE, '--set', set.join(','));
    const expected = installed(
      {
        isOneProgram: true,
        image: `registry.example.com/team/capstan:${VERSION}`,
        // Helm sorts them by name.
        operators: operators.filter(({ name }) => name !== 'gimbal').toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      },
      { sesame: { 'envoy-image': ['envoy:1'] }, kroxylicious: { 'sidecar-webhook': ['false'] } },
    ).filter(isReleased(SYSTEM_NAMESPACE));
    const one = expected.find(({ kind }) => kind === 'Deployment');
    assert.match(JSON.stringify(one), /--submariner\.image=registry\.example\.com\/team\/capstan-gateway:/);
    // The policies of the shared account are those of all operators: the chart does not know the choice.
    const sorted = operators.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const policies = installed({ isOneProgram: true, operators: sorted }).filter(isPolicy);
    assert.ok(policies.length > 0);
    assertSame(objectsIn(text).map(asInstalled), [...expected.filter((each) => !isPolicy(each)), ...policies]);
  });

  test('helm renders another bound of packages as capstan install does', { skip: withoutHelm }, () => {
    const flags = { crossplane: { 'max-role': ['packages'] } };
    const set = 'operators.sesame=false,operators.gimbal=false,operators.submariner=false,operators.kroxylicious=false';
    const text = rendered('--namespace', SYSTEM_NAMESPACE, '--set', `${set},flags.crossplane.max-role=packages`);
    const bounded = operators
      .filter(({ name }) => name === 'crossplane')
      .map((one) => configured(one, parseFlags(one.flags ?? {}, flags.crossplane, {}), {}));
    const expected = installed({ operators: bounded }, flags).filter(isReleased(SYSTEM_NAMESPACE));
    const names = expected.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.ok(names.includes('ClusterRoleBinding capstan-crossplane:packages'));
    assert.ok(!names.includes('ClusterRole crossplane:allowed-provider-permissions'));
    assert.match(JSON.stringify(expected), /--crossplane\.provider-clusterrole=packages/);
    assertSame(objectsIn(text).map(asInstalled), expected);
  });

  test('helm puts every value of pods into every pod', { skip: withoutHelm }, () => {
    const values = {
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { zone: 'a' },
      tolerations: [{ key: 'edge', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      podAnnotations: { team: 'edge' },
      resources: { limits: { memory: '1Gi' } },
      record: { emptyDir: { sizeLimit: '300Mi' } },
      extraArgs: ['--log-level=debug'],
      extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
      podSecurity: 'baseline',
    };
    const set = Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
    const all = objectsIn(rendered('--namespace', 'edge', '--set', 'admission=true', ...set));
    const deployments = all.filter(({ kind }) => kind === 'Deployment') as Deployment[];
    assert.equal(deployments.length, operators.length + 1);
    for (const { metadata, spec } of deployments) {
      const pod = spec?.template.spec as unknown as Record<string, unknown>;
      const container = (pod['containers'] as Record<string, unknown>[])[0] ?? {};
      for (const name of ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity', 'priorityClassName'] as const)
        assert.deepEqual(pod[name], values[name], `${metadata.name} ${name}`);
      assert.deepEqual(spec?.template.metadata?.annotations, values.podAnnotations);
      assert.deepEqual(container['resources'], values.resources);
      if (metadata.name === 'capstan-admission') continue;
      assert.equal((container['args'] as string[]).at(-1), '--log-level=debug');
      assert.ok((container['args'] as string[]).includes('--record=/record'));
      assert.ok(
        (container['volumeMounts'] as { mountPath: string }[]).some(({ mountPath }) => mountPath === '/record'),
      );
      const volumes = pod['volumes'] as { name: string }[];
      assert.deepEqual(
        volumes.filter(({ name }) => name === 'record'),
        [{ name: 'record', ...values.record }],
      );
      assert.deepEqual(container['env'], values.extraEnv);
      assert.deepEqual((container['volumeMounts'] as object[]).at(-1), values.extraVolumeMounts[0]);
      assert.deepEqual((pod['volumes'] as object[]).at(-1), values.extraVolumes[0]);
    }
    const namespace = all.find(({ kind, metadata }) => kind === 'Namespace' && metadata.name === SYSTEM_NAMESPACE);
    assert.equal(namespace?.metadata.labels?.['pod-security.kubernetes.io/enforce'], 'baseline');
  });

  for (const [what, set, message] of [
    ['a value that there is not', 'replica=3', /replica/],
    ['a flag that an operator does not have', 'flags.sesame.envoy=x', /envoy/],
    ['a flag of another type', 'flags.kroxylicious.sidecar-webhook=maybe', /sidecar-webhook/],
    ['an image with a digest and no image of gateways', 'image=capstan@sha256:0', /flags\.submariner\.image/],
  ] as const)
    test(`helm refuses ${what}`, { skip: withoutHelm }, () => {
      const { status, stderr } = spawnSync(
        HELM,
        ['template', 'capstan', chart, '--kube-version', '1.30.0', '--set', set],
        { encoding: 'utf8' },
      );
      assert.notEqual(status, 0);
      assert.match(stderr, message);
    });

  test('kubectl kustomize builds what capstan install applies', { skip: withoutKubectl }, () => {
    const { status, stdout, stderr } = spawnSync(KUBECTL, ['kustomize', join(folder, 'kustomize')], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    assert.equal(status, 0, stderr);
    assertSame(objectsIn(stdout), installed());
  });
});

/** The namespace of a release is there before its chart is installed. */
const isReleased =
  (namespace: string) =>
  ({ kind, metadata }: KubeObject) =>
    kind !== 'Namespace' || metadata.name !== namespace;

function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);
}

/** Removes Helm's additions. */
function asInstalled(object: KubeObject): KubeObject {
  const text = JSON.stringify(object)
    .replaceAll('"app.kubernetes.io/managed-by":"Helm"', '"app.kubernetes.io/managed-by":"capstan-install"')
    .replace('"annotations":{"helm.sh/resource-policy":"keep"}', '"annotations":{}')
    .replace(/,"helm\.sh\/resource-policy":"keep"|"helm\.sh\/resource-policy":"keep",/, '');
  return JSON.parse(text) as KubeObject;
}

function assertSame(actual: readonly KubeObject[], expected: readonly KubeObject[]): void {
  const id = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
  const sorted = (objects: readonly KubeObject[]) => objects.toSorted((a, b) => (id(a) < id(b) ? -1 : 1));
  assert.deepEqual(sorted(actual).map(id), sorted(expected).map(id));
  for (const [at, one] of sorted(expected).entries()) {
    const plain = JSON.parse(JSON.stringify(one)) as KubeObject;
    const found = sorted(actual)[at];
    if (found?.metadata.annotations !== undefined && Object.keys(found.metadata.annotations).length === 0)
      delete (found.metadata as { annotations?: object }).annotations;
    assert.deepEqual(found, plain, id(one));
  }
}

function isPolicy({ kind }: KubeObject): boolean {
  return kind.startsWith('ValidatingAdmissionPolicy');
}
