// The cost of the operators of one process together: on one runtime, whose caches they share, and on one runtime each. The objects are
// those of an ordinary cluster; no operator acts on any of them, so only the caches differ.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogicalCluster, startCluster } from '@capstan/apiserver';
import crossplane from '@capstan/crossplane';
import gimbal from '@capstan/gimbal';
import kroxylicious from '@capstan/kroxylicious';
import {
  type Client,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Namespace,
  Pod,
  Secret,
  Service,
  systemClock,
} from '@capstan/kube';
import sesame from '@capstan/sesame';
import submariner from '@capstan/submariner';
import type { Part } from '../../bench.ts';
import { result } from '../../measure/result.ts';
import { roundsOf } from '../../measure/timing.ts';
import { clientOf } from '../cluster.ts';

const SIZES = { full: { units: 1000, rounds: 3 }, tiny: { units: 5, rounds: 1 } };
/** Objects of one application: a Deployment, its pods, a Service, a Secret and ConfigMaps. */
const PER_UNIT = 10;
const PODS = 5;

export const sharedCaches: Part = {
  name: 'shared-caches',
  summary: 'resident memory of all operators, on one runtime and on one each',
  async measure(scale) {
    const { units, rounds } = SIZES[scale];
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: ['bench'] });
    const folder = mkdtempSync(join(tmpdir(), 'shared-caches-'));
    try {
      const [only] = cluster.clusters;
      if (only === undefined) throw new Error('a cluster was asked for');
      await fill(only, units);
      const kubeconfig = join(folder, 'config');
      writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
      const each = await roundsOf(rounds, () => runOperators(kubeconfig, 'each'));
      const one = await roundsOf(rounds, () => runOperators(kubeconfig, 'one'));
      const ratios = one.map(({ resident }, round) => resident / (each[round]?.resident ?? Number.NaN));
      const objects = (units * PER_UNIT).toLocaleString('en');
      const name = `all operators and ${objects} objects`;
      return [
        result({
          name: `${name}, resident memory`,
          unit: 'MB',
          rounds: one.map(({ resident }) => resident),
          peer: { name: 'a runtime for each operator', rounds: each.map(({ resident }) => resident) },
          note: 'VmRSS of the process after a collection; about 50 MB of it are pages of the Node executable',
        }),
        result({
          name: `${name}, live heap`,
          unit: 'MB',
          rounds: one.map(({ heap }) => heap),
          peer: { name: 'a runtime for each operator', rounds: each.map(({ heap }) => heap) },
        }),
        result({
          name: `${name}, share of what one runtime each takes`,
          unit: 'ratio',
          rounds: ratios,
          ...(scale === 'full' ? { below: 0.7 } : {}),
        }),
      ];
    } finally {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Memory {
  readonly resident: number;
  readonly heap: number;
}

async function runOperators(kubeconfig: string, how: 'one' | 'each'): Promise<Memory> {
  const program = join(import.meta.dirname, 'operators-process.ts');
  const child = spawn(process.execPath, [...process.execArgv, program, kubeconfig, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`the process of the operators ended with code ${code ?? 'none'}`);
  return JSON.parse(text) as Memory;
}

async function fill({ server }: LogicalCluster, units: number): Promise<void> {
  const client = clientOf(server.transport());
  for (const { kinds } of [kroxylicious, crossplane, gimbal, submariner, sesame])
    for (const kind of kinds) await client.create(CustomResourceDefinition, kind.crd() as CustomResourceDefinition);
  await server.idle();
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
  for (let unit = 0; unit < units; unit++) await addApplication(client, unit);
  await client.close();
}

async function addApplication(client: Client, unit: number): Promise<void> {
  const name = `app-${unit}`;
  const labels = { app: name, team: `team-${unit % 7}`, 'app.kubernetes.io/managed-by': 'bench' };
  const metadata = (suffix = '') => ({ namespace: 'default', name: `${name}${suffix}`, labels });
  const template = { metadata: { labels }, spec: podSpec(name) };
  const spec = { replicas: PODS, selector: { matchLabels: { app: name } }, template };
  await client.create(Deployment, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: metadata(), spec });
  for (let pod = 0; pod < PODS; pod++)
    await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata: metadata(`-${pod}`), spec: podSpec(name) });
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }];
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(),
    spec: { selector: { app: name }, ports },
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata(),
    data: { password: Buffer.from(`password of ${name}`).toString('base64') },
  });
  for (const suffix of ['-settings', '-scripts'])
    await client.create(ConfigMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadata(suffix),
      data: { 'settings.yaml': `name: ${name}\n`.repeat(40) },
    });
}

function podSpec(name: string) {
  return {
    serviceAccountName: 'default',
    containers: [
      {
        name: 'app',
        image: `registry.example.com/team/${name}:1.4.2`,
        ports: [{ name: 'http', containerPort: 8080 }],
        env: Array.from({ length: 8 }, (_, index) => ({
          name: `SETTING_${index}`,
          value: `value ${index} of ${name}`,
        })),
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 5 },
        volumeMounts: [{ name: 'settings', mountPath: '/etc/app' }],
      },
    ],
    volumes: [{ name: 'settings', configMap: { name: `${name}-settings` } }],
  };
}
