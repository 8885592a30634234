// The flags of a discoverer: those of the original Gimbal, and additional ones. Parsing and help follow from this one table.
import { parseDuration } from '@capstan/kube/cluster';
import { DEFAULT_SETTINGS } from '../discoverer.ts';
import { DiscoverErrors } from '../errors.ts';
import { backendNameProblem, COMFORTABLE_BACKEND_NAME } from '../names/backend-name.ts';

export type BackendType = 'kubernetes' | 'openstack';

interface Flag {
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'duration' | 'list';
  /** The type of backend that has the flag; both by default. */
  readonly only?: BackendType;
  readonly alias?: string;
  /** As it is written in the help. */
  readonly value?: string;
  readonly help: string;
}

export const FLAGS = {
  'backend-name': {
    type: 'string',
    alias: 'cluster-name',
    value: 'NAME',
    help: 'The backend; part of every name here. Required.',
  },
  'gimbal-kubecfg-file': {
    type: 'string',
    value: 'FILE',
    help: 'This cluster; default the pod’s own, else as kubectl.',
  },
  'discover-kubecfg-file': {
    type: 'string',
    only: 'kubernetes',
    value: 'FILE',
    help: 'The remote cluster’s kubeconfig, as a file.',
  },
  'credentials-dir': { type: 'string', value: 'DIR', help: 'The mounted Secret: a file for each of its keys.' },
  endpoint: { type: 'string', value: 'URL', help: 'The remote address, instead of the one in the credentials.' },
  'expect-identity': {
    type: 'string',
    value: 'ID',
    help: 'The remote side must be this one; otherwise nothing is changed.',
  },
  'credentials-id': { type: 'string', value: 'TEXT', help: 'Shown on the status: which credentials are in use.' },
  namespaces: { type: 'list', value: 'GLOB,…', help: 'Namespaces (or projects) to discover; default all.' },
  'exclude-namespaces': { type: 'list', value: 'GLOB,…', help: 'Those to pass over; default kube-system.' },
  'create-namespaces': { type: 'boolean', help: 'Create namespaces that are missing here; default false.' },
  'write-endpoints': {
    type: 'boolean',
    help: 'Also write Endpoints, for clients that do not read slices; default false.',
  },
  'num-threads': {
    type: 'integer',
    value: 'N',
    help: `Services worked on at a time; default ${DEFAULT_SETTINGS.threads}.`,
  },
  'gimbal-client-qps': {
    type: 'number',
    value: 'N',
    help: `Writes to this cluster a second, 0.5 for one in two; default ${DEFAULT_SETTINGS.qps}.`,
  },
  'gimbal-client-burst': { type: 'integer', value: 'N', help: `Writes at once; default ${DEFAULT_SETTINGS.burst}.` },
  'resync-interval': {
    type: 'duration',
    value: 'DURATION',
    help: 'Compare everything so often; default 30m, 0 never again.',
  },
  'reconciliation-period': {
    type: 'duration',
    only: 'openstack',
    value: 'DURATION',
    help: 'Interval between two reads of the cloud; default 30s, 0 without a pause.',
  },
  'http-client-timeout': {
    type: 'duration',
    only: 'openstack',
    value: 'DURATION',
    help: 'Of one request to the cloud; default 5s, 0 none.',
  },
  'openstack-certificate-authority': {
    type: 'string',
    only: 'openstack',
    value: 'FILE',
    help: 'PEM file of the cloud’s authority.',
  },
  'openstack-project-watchlist': {
    type: 'list',
    only: 'openstack',
    value: 'NAME,…',
    help: 'Projects to discover; default all.',
  },
  'openstack-interface': {
    type: 'string',
    only: 'openstack',
    value: 'NAME',
    help: 'Which endpoints of the catalog; default public.',
  },
  'backend-namespace': { type: 'string', value: 'NAME', help: 'Where the DiscoveryBackend is, and the Lease.' },
  backend: {
    type: 'string',
    value: 'NAME',
    help: 'The DiscoveryBackend whose status is written; default the backend’s name.',
  },
  'backend-kind': { type: 'string', value: 'KIND', help: 'DiscoveryBackend (default), Discoverer or Discovery.' },
  'leader-elect': {
    type: 'boolean',
    help: 'Only the holder of the Lease removes; default true with --backend-namespace.',
  },
  'prometheus-listen-address': {
    type: 'integer',
    value: 'PORT',
    help: 'Of /metrics, /healthz and /readyz; default 8080, 0 any.',
  },
  'health-port': {
    type: 'integer',
    only: 'openstack',
    value: 'PORT',
    help: 'Port of /healthz, which reports whether the cloud answers; default 8000 in a pod, else none.',
  },
  'bind-address': { type: 'string', value: 'IP', help: 'Where to listen; default $POD_IP, else every address.' },
  'log-format': { type: 'string', value: 'FORMAT', help: 'json (default) or text.' },
  debug: { type: 'boolean', help: 'Log more.' },
  version: { type: 'boolean', help: 'Print the version and end.' },
  help: { type: 'boolean', help: 'Show this help.' },
} as const satisfies Record<string, Flag>;

type FlagName = keyof typeof FLAGS;
type ValueOf<F extends Flag> = F['type'] extends 'boolean'
  ? boolean
  : F['type'] extends 'integer' | 'number' | 'duration'
    ? number
    : F['type'] extends 'list'
      ? readonly string[]
      : string;

/** The flags that were given, with durations in milliseconds. */
export type Given = { readonly [Name in FlagName]?: ValueOf<(typeof FLAGS)[Name]> };

/** Reads flags as Gimbal's programs do: one or two hyphens, with `=` or a blank. Throws DiscoverErrors. */
export function parseFlags(type: BackendType, argv: readonly string[]): Given {
  const given: Record<string, unknown> = {};
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    const [, written = '', inline] = /^--?([a-zA-Z][-\w]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const name = nameOf(written);
    const flag: Flag | undefined = name === undefined ? undefined : FLAGS[name];
    if (name === undefined || flag === undefined || (flag.only !== undefined && flag.only !== type)) {
      throw DiscoverErrors.UnknownFlag(type, argument.replace(/=.*/s, ''));
    }
    if (flag.type === 'boolean') {
      given[name] = truthOf(name, inline ?? 'true');
      continue;
    }
    const text = inline ?? argv[++index];
    if (text === undefined) throw DiscoverErrors.NoValue(name);
    given[name] = valueOf(name, flag.type, text);
  }
  return given;
}

/** Refuses flags that are missing or contradict each other, before anything is started. */
export function checkFlags(type: BackendType, given: Given): void {
  const backend = given['backend-name'];
  if (backend === undefined) throw DiscoverErrors.Missing('backend-name', 'the name of the backend');
  const problem = backendNameProblem(backend);
  if (problem !== undefined) throw DiscoverErrors.BadBackendName(backend, problem);
  const isFile = given['discover-kubecfg-file'] !== undefined;
  const isFolder = given['credentials-dir'] !== undefined;
  if (isFile && isFolder) throw DiscoverErrors.TwoCredentials();
  if (!isFile && !isFolder) throw DiscoverErrors.Missing('credentials-dir', 'the folder of the mounted Secret');
  if (type === 'openstack' && isFile) throw DiscoverErrors.UnknownFlag(type, '--discover-kubecfg-file');
  const kind = given['backend-kind'];
  if (kind !== undefined && !['DiscoveryBackend', 'Discoverer', 'Discovery'].includes(kind)) {
    throw DiscoverErrors.BadValue('backend-kind', kind, 'use DiscoveryBackend, Discoverer or Discovery');
  }
  const endpoint = given.endpoint;
  if (endpoint !== undefined && (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))) {
    throw DiscoverErrors.BadValue('endpoint', endpoint, 'write it as https://HOST:PORT');
  }
}

/** A sentence about a name that works but is better shorter. */
export function nameWarning(backend: string): string | undefined {
  return backend.length > COMFORTABLE_BACKEND_NAME
    ? `the name of the backend is longer than ${COMFORTABLE_BACKEND_NAME} characters: names of discovered services may be cut`
    : undefined;
}

export function flagHelp(type: BackendType): string {
  const shown = (Object.entries(FLAGS) as [string, Flag][]).filter(
    ([, { only }]) => only === undefined || only === type,
  );
  const lines = shown.map(([name, { value, help, alias }]) => {
    const left = `  --${name}${value === undefined ? '' : ` ${value}`}`;
    return `${left.padEnd(44)} ${help}${alias === undefined ? '' : ` Also --${alias}.`}`;
  });
  return `gimbal discover ${type} [flags]\n\nBrings the services of a remote ${type === 'kubernetes' ? 'cluster' : 'cloud'} here.\n\nFlags:\n${lines.join('\n')}\n`;
}

function nameOf(written: string): FlagName | undefined {
  if (Object.hasOwn(FLAGS, written)) return written as FlagName;
  const found = (Object.entries(FLAGS) as [FlagName, Flag][]).find(([, { alias }]) => alias === written);
  return found?.[0];
}

function truthOf(name: string, text: string): boolean {
  if (['true', '1', 't', 'T', 'TRUE', 'True'].includes(text)) return true;
  if (['false', '0', 'f', 'F', 'FALSE', 'False'].includes(text)) return false;
  throw DiscoverErrors.BadValue(name, text, 'use true or false');
}

function valueOf(name: string, type: Flag['type'], text: string): unknown {
  if (type === 'list') return text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
  if (type === 'integer') {
    if (!/^\d{1,9}$/.test(text)) throw DiscoverErrors.BadValue(name, text, 'use a whole number');
    return Number(text);
  }
  if (type === 'number') {
    if (!/^(?:\d{1,9}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?$/.test(text))
      throw DiscoverErrors.BadValue(name, text, 'use a number such as 5 or 0.5');
    return Number(text);
  }
  if (type !== 'duration') return text;
  const ms = durationOf(text);
  if (ms === undefined || ms < 0) throw DiscoverErrors.BadValue(name, text, 'use a duration such as 30s, 500ms or 0');
  return ms;
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  } catch {
    return undefined;
  }
}
