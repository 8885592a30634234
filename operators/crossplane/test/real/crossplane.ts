// Crossplane's own renderer and converter, as setup:real built them.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Deployment, JsonObject, KubeObject, Service, ServiceAccount } from '@capstan/kube';
import type { RuntimeRevision } from '../../src/runtime/render/render.ts';

const folder = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'crossplane');

/** Why a test is left out, or false. */
export const skip = existsSync(join(folder, '.complete'))
  ? false
  : 'Crossplane itself is not there: npm run setup:real -- crossplane';

export const VERSIONS = ['v1', 'v2'] as const;
export type Version = (typeof VERSIONS)[number];

export interface UpstreamCase {
  readonly revision: RuntimeRevision;
  readonly namespace: string;
  /** The spec of a DeploymentRuntimeConfig. */
  readonly config?: object;
  readonly controllerConfig?: JsonObject;
  readonly managerPullSecrets?: readonly string[];
  readonly imageConfigPullSecret?: string;
}

export interface UpstreamObjects {
  readonly deployment: Deployment;
  readonly service: Service;
  readonly serviceAccount: ServiceAccount | undefined;
}

/** Lets the real one render each case. */
export function renderWith(version: Version, cases: readonly UpstreamCase[]): UpstreamObjects[] {
  const input = cases.map((one) => JSON.stringify(caseOf(one))).join('\n');
  const { status, stdout, stderr } = spawnSync(join(folder, `crossplane-${version}`), ['render'], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`Crossplane ${version} could not render: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const objects = JSON.parse(line) as KubeObject[];
    const [service] = objects.filter((one): one is Service => 'spec' in one && 'ports' in (one.spec as object));
    const [deployment] = objects.filter(
      (one): one is Deployment => 'spec' in one && 'template' in (one.spec as object),
    );
    const [serviceAccount] = objects.filter((one): one is ServiceAccount => !('spec' in one));
    if (deployment === undefined || service === undefined)
      throw new Error(`Crossplane ${version} rendered no Deployment or no Service: ${stderr}`);
    return { deployment, service, serviceAccount };
  });
}

/** Lets the real converter of 1.20 make a DeploymentRuntimeConfig of a ControllerConfig, in YAML. */
export function convertWith(path: string): string {
  const { status, stdout, stderr } = spawnSync(join(folder, 'crossplane-v1'), ['convert', path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Crossplane v1 could not convert: ${stderr}`);
  return stdout;
}

function caseOf(one: UpstreamCase): object {
  const { revision, namespace, config, controllerConfig } = one;
  const { kind, packageName, name, uid, image, pullPolicy, pullSecrets } = revision;
  const meta = { apiVersion: 'meta.pkg.crossplane.io/v1', kind, metadata: { name: packageName }, spec: {} };
  const object = {
    apiVersion: 'pkg.crossplane.io/v1',
    kind: `${kind}Revision`,
    metadata: { name, uid, labels: { 'pkg.crossplane.io/package': packageName } },
    spec: {
      desiredState: 'Active',
      image,
      revision: 1,
      ...(pullPolicy !== undefined && { packagePullPolicy: pullPolicy }),
      packagePullSecrets: pullSecrets.map((secret) => ({ name: secret })),
      tlsServerSecretName: revision.tlsServerSecretName,
      tlsClientSecretName: revision.tlsClientSecretName,
    },
    status: { resolvedImage: image },
  };
  return {
    [kind]: object,
    [`${kind}Meta`]: meta,
    namespace,
    ...(config !== undefined && {
      runtimeConfig: {
        apiVersion: 'pkg.crossplane.io/v1beta1',
        kind: 'DeploymentRuntimeConfig',
        metadata: { name: 'test' },
        spec: config,
      },
    }),
    ...(controllerConfig !== undefined && { controllerConfig }),
    managerPullSecrets: (one.managerPullSecrets ?? []).map((secret) => ({ name: secret })),
    imageConfigSecret: one.imageConfigPullSecret ?? '',
  };
}
