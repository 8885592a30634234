// The chart and the base for kustomize give exactly the objects that `capstan install` applies, by the real helm and kubectl.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BUILT_IN_OPERATORS, type Installation, installationObjects, VERSION } from '@capstan/cli/install';
import type { KubeObject } from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
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
  const installed = (settings: Partial<Installation> = {}) => {
    const base = { operators, namespace: SYSTEM_NAMESPACE, image: `capstan:${VERSION}`, version: VERSION, replicas: 2 };
    const { foundations, workloads } = installationObjects({
      ...base,
      isOneProgram: false,
      hasServiceMonitors: false,
      admission: [],
      ...settings,
    });
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
    const expected = installed().filter(({ kind }) => kind !== 'Namespace');
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
    }).filter(({ kind, metadata }) => kind !== 'Namespace' || metadata.name === SYSTEM_NAMESPACE);
    assertSame(objectsIn(text).map(asInstalled), expected);
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

function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);
}

/** Without what Helm adds. */
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
