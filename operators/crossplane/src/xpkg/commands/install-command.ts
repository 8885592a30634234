// `crossplane xpkg install` and `update`: a package in a cluster.
import { type Kind, parseDuration, reasonOf, sleep, systemClock } from '@capstan/kube';
import { CLUSTER_OPTIONS, type Io, withCluster } from '@capstan/reconcile/command-line';
import { Configuration, FunctionPackage, Provider } from '../../kinds/index.ts';
import { parseReference } from '../../oci/reference.ts';
import type { PackageObject } from '../../packages/package-kind.ts';
import { XpkgErrors } from '../errors.ts';
import { toDnsLabel } from '../names.ts';
import { type XpkgArgs, type XpkgCommand, type XpkgFlag, type XpkgIo, XpkgUsageErrors } from './command.ts';
import { DEFAULT_REGISTRY } from './registry-flags.ts';

const KINDS = { provider: Provider, configuration: Configuration, function: FunctionPackage } as unknown as Readonly<
  Record<string, Kind<PackageObject>>
>;
const CLUSTER_FLAGS: Readonly<Record<string, XpkgFlag>> = {
  kubeconfig: CLUSTER_OPTIONS.kubeconfig,
  context: CLUSTER_OPTIONS.context,
};

export const installCommand: XpkgCommand = {
  usage: 'install provider|configuration|function PACKAGE [NAME]',
  summary: 'Installs a package in the cluster of the kubeconfig. The name is derived from the repository by default.',
  positionals: [2, 3],
  flags: {
    'runtime-config': { type: 'string', value: 'NAME', help: 'The DeploymentRuntimeConfig to run it with.' },
    'manual-activation': { type: 'boolean', short: 'm', help: 'New revisions wait until a user activates them.' },
    'package-pull-secrets': { type: 'string', list: true, value: 'NAME,…', help: 'Secrets to pull it with.' },
    'revision-history-limit': { type: 'string', short: 'r', value: 'N', help: 'How many old revisions stay.' },
    wait: { type: 'string', short: 'w', value: 'DURATION', help: 'Wait so long for it to be healthy.' },
    ...CLUSTER_FLAGS,
  },
  async run(args, io) {
    const { kind, image, name } = targetOf(args, 'install', installCommand.usage);
    const secrets = args.list('package-pull-secrets');
    const runtimeConfig = args.text('runtime-config');
    const limit = args.text('revision-history-limit');
    if (limit !== undefined && !/^\d{1,6}$/.test(limit))
      throw XpkgUsageErrors.NotOneOf('--revision-history-limit', limit, ['a whole number']);
    const spec = {
      package: image,
      ...(args.is('manual-activation') && { revisionActivationPolicy: 'Manual' }),
      ...(limit !== undefined && { revisionHistoryLimit: Number(limit) }),
      ...(secrets.length > 0 && { packagePullSecrets: secrets.map((secret) => ({ name: secret })) }),
      ...(runtimeConfig !== undefined && { runtimeConfigRef: { name: runtimeConfig } }),
    };
    return withCluster(clusterOf(args), clusterIo(io), async ({ client }) => {
      const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name }, spec } as PackageObject;
      await client.create(kind, object, { fieldManager: 'crossplane-cli', signal: io.signal });
      io.stdout(`${kind.kind.toLowerCase()}.${kind.group}/${name} created\n`);
      const wait = args.text('wait');
      if (wait === undefined) return 0;
      const end = systemClock.now() + waitOf(wait);
      for (;;) {
        const { status } = await client.get(kind, { name }, { signal: io.signal });
        const healthy = status?.conditions?.find(({ type }) => type === 'Healthy');
        if (healthy?.status === 'True') return 0;
        if (systemClock.now() >= end) throw XpkgErrors.NotHealthy(`${kind.kind} ${name}`, wait, healthy?.message ?? '');
        await sleep(systemClock, POLL_MS, io.signal);
      }
    });
  },
};

export const updateCommand: XpkgCommand = {
  usage: 'update provider|configuration|function PACKAGE [NAME]',
  summary: 'Gives an installed package another version. The name is derived from the repository by default.',
  positionals: [2, 3],
  flags: CLUSTER_FLAGS,
  async run(args, io) {
    const { kind, image, name } = targetOf(args, 'update', updateCommand.usage);
    return withCluster(clusterOf(args), clusterIo(io), async ({ client }) => {
      const patch = { spec: { package: image } };
      await client.patch(kind, { name }, 'merge', patch, { fieldManager: 'crossplane-cli', signal: io.signal });
      io.stdout(`${kind.kind.toLowerCase()}.${kind.group}/${name} updated\n`);
      return 0;
    });
  },
};

const POLL_MS = 500;

function targetOf(args: XpkgArgs, command: string, usage: string) {
  const [word = '', image = '', given] = args.positionals;
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
  if (kind === undefined) throw XpkgUsageErrors.Arguments(command, usage);
  // The cluster decides which registry a name without one means; it is read here for its repository alone.
  const { repository } = parseReference(image, { defaultRegistry: DEFAULT_REGISTRY });
  return { kind, image, name: given ?? toDnsLabel(repository) };
}

function waitOf(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw XpkgUsageErrors.NotOneOf('--wait', text, [`a duration such as 2m (${reasonOf(error)})`]);
  }
}

function clusterOf(args: XpkgArgs) {
  return { kubeconfig: args.text('kubeconfig'), context: args.text('context'), namespace: undefined };
}

/** The command line gives all that a cluster needs; commands without one have less. */
function clusterIo(io: XpkgIo): Io {
  if (!('connect' in io)) throw XpkgErrors.NoCluster();
  return io as unknown as Io;
}
