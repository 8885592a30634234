// Computes the effective fields from the fields that a user wrote, under any of their names. Pure. The user's fields are never rewritten:
// the result is shown in `status.effective`. A field that cannot be understood is a fault, and then all previous fields stay in force: a
// typo must neither drain a cluster nor stop its discoverer.
import { validateDns1123Subdomain } from '@capstan/kube';
import type { BackendFields, DiscoveryBackend, EffectiveBackend } from '../kinds/index.ts';
import { parseWindow } from '../schedule/window.ts';
import { WRITE_LIMITS } from '../write-limits.ts';
import { bare, type Fault, type Parsed, parseEndpoint, parseFlag, parseSeconds, parseWord } from './fields.ts';
import { nameFault } from './names.ts';

export interface Normalised {
  /** The effective fields; undefined if one of them is faulty. */
  readonly effective: EffectiveBackend | undefined;
  readonly faults: readonly Fault[];
}

const DAY = 86_400;
const REFRESH = { kubernetes: 1800, openstack: 30 } as const;
const EXCLUDED = ['kube-system'];

/** Returns the effective fields of a backend, and the faults that were found. */
export function normalise(backend: Pick<DiscoveryBackend, 'metadata' | 'spec' | 'cluster' | 'writtenAs'>): Normalised {
  const faults: Fault[] = [];
  const name = backend.metadata.name ?? '';
  const wrongName = nameFault(name);
  if (wrongName !== undefined) faults.push({ path: 'metadata.name', message: wrongName });

  const fields = merged(backend, faults);
  const take = <V>(names: readonly (keyof BackendFields)[], parse: (written: unknown) => Parsed<V>): V | undefined =>
    taken(fields, names, parse, faults);
  const type = take(['type'], (written) =>
    parseWord<EffectiveBackend['type']>(written, ['kubernetes', 'openstack'], { k8s: 'kubernetes' }),
  );
  if (type === undefined && fields.get('type') === undefined)
    faults.push({ path: `${fields.place}.type`, message: 'it is needed: kubernetes or openstack' });
  const secret = take(['secret', 'credentials', 'secretName', 'secretRef'], parseSecret);
  if (secret === undefined && SECRET_NAMES.every((each) => fields.get(each) === undefined))
    faults.push({
      path: `${fields.place}.secret`,
      message: 'it is needed: the name of the Secret with the credentials',
    });

  const endpoint = take(['endpoint', 'apiEndpoint'], parseEndpoint);
  const refreshInterval = take(['refreshInterval', 'reconciliationPeriod', 'resyncInterval'], (written) =>
    parseSeconds(written, 1, DAY),
  );
  const include = includeOf(fields);
  const exclude = fields.get('namespaces')?.exclude;
  const effective = {
    backendName: name,
    ...(backend.writtenAs === undefined ? {} : { writtenAs: backend.writtenAs }),
    type,
    secret,
    ...(endpoint === undefined ? {} : { endpoint }),
    refreshInterval: refreshInterval ?? REFRESH[type ?? 'kubernetes'],
    debug: take(['debug'], parseFlag) ?? false,
    clusterStatus:
      take(['clusterStatus', 'ClusterStatus'], (written) =>
        parseWord<EffectiveBackend['clusterStatus']>(written, ['Enabled', 'Maintenance']),
      ) ?? 'Enabled',
    namespaces: { include: include ?? [], exclude: exclude ?? EXCLUDED },
    createNamespaces: take(['createNamespaces'], parseFlag) ?? false,
    numThreads: fields.get('numThreads') ?? 2,
    clientQPS: fields.get('clientQPS') ?? WRITE_LIMITS.qps,
    clientBurst: fields.get('clientBurst') ?? WRITE_LIMITS.burst,
    httpTimeout: take(['httpTimeout'], (written) => parseSeconds(written, 1, 600)) ?? 5,
    maintenance: maintenanceOf(fields, faults),
    ...rotationOf(fields, faults),
    deletionPolicy:
      take(['deletionPolicy'], (written) =>
        parseWord<EffectiveBackend['deletionPolicy']>(written, ['Clean', 'Orphan']),
      ) ?? 'Clean',
  };
  if (faults.length > 0 || type === undefined || secret === undefined) return { effective: undefined, faults };
  return { effective: { ...effective, type, secret }, faults };
}

const SECRET_NAMES = ['secret', 'credentials', 'secretName', 'secretRef'] as const;

interface Merged {
  /** The object that holds the user's fields. Messages about missing fields name it. */
  readonly place: 'cluster' | 'spec';
  get<N extends keyof BackendFields>(name: N): BackendFields[N] | undefined;
  pathOf(name: string): string;
}

/** The fields under `cluster` and `spec` together; one that is in both must be the same in both. */
function merged({ cluster, spec }: Pick<DiscoveryBackend, 'spec' | 'cluster'>, faults: Fault[]): Merged {
  const place = cluster === undefined ? 'spec' : 'cluster';
  for (const name of Object.keys(cluster ?? {}) as (keyof BackendFields)[]) {
    if (spec?.[name] !== undefined && !isSame(cluster?.[name], spec[name]))
      faults.push({ path: `cluster.${name}`, message: `it differs from spec.${name}; set one of them` });
  }
  return {
    place,
    get: (name) => cluster?.[name] ?? spec?.[name],
    pathOf: (name) => `${cluster !== undefined && name in cluster ? 'cluster' : 'spec'}.${name}`,
  };
}

/** Whether two ways of writing a field mean the same. */
function isSame(left: unknown, right: unknown): boolean {
  const folded = (value: unknown) => JSON.stringify(typeof value === 'string' ? bare(value)?.toLowerCase() : value);
  return folded(left) === folded(right);
}

/** The one value that a field has under any of its names; several that differ are a fault. */
function taken<V>(
  fields: Merged,
  names: readonly (keyof BackendFields)[],
  parse: (written: unknown) => Parsed<V>,
  faults: Fault[],
): V | undefined {
  let found: { name: string; value: V } | undefined;
  for (const name of names) {
    const written = fields.get(name);
    if (written === undefined || written === null) continue;
    const parsed = parse(written);
    if ('fault' in parsed) {
      faults.push({ path: fields.pathOf(name), message: parsed.fault });
    } else if (found === undefined) {
      found = { name, value: parsed.value };
    } else if (found.value !== parsed.value) {
      faults.push({ path: fields.pathOf(name), message: `it differs from ${found.name}; set one of them` });
    }
  }
  return found?.value;
}

function parseSecret(written: unknown): Parsed<string> {
  const name = bare(typeof written === 'object' ? (written as { name?: unknown })?.name : written) ?? '';
  const [fault] = validateDns1123Subdomain(name);
  return fault === undefined ? { value: name } : { fault: `"${name}" is no name of a Secret: ${fault}` };
}

function includeOf(fields: Merged): string[] | undefined {
  const include = fields.get('namespaces')?.include;
  if (include !== undefined) return include;
  const watched: unknown = fields.get('projectWatchlist');
  const list = typeof watched === 'string' ? watched.split(',') : Array.isArray(watched) ? watched : undefined;
  return list?.map((each) => bare(String(each)) ?? '').filter((each) => each !== '');
}

function maintenanceOf(fields: Merged, faults: Fault[]): EffectiveBackend['maintenance'] {
  const written = fields.get('maintenance') ?? {};
  const path = (name: string) => `${fields.pathOf('maintenance')}.${name}`;
  const read = <V>(name: string, value: unknown, parse: (one: unknown) => Parsed<V>, fallback: V): V => {
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if ('value' in parsed) return parsed.value;
    faults.push({ path: path(name), message: parsed.fault });
    return fallback;
  };
  const schedule = written.schedule ?? [];
  for (const [at, { start, end }] of schedule.entries()) {
    if (!(Date.parse(start) < Date.parse(end)))
      faults.push({ path: path(`schedule[${at}]`), message: 'its start is not before its end' });
  }
  return {
    onNoCapacity: read(
      'onNoCapacity',
      written.onNoCapacity,
      (one) => parseWord<'Zero' | 'Keep' | 'Reject'>(one, ['Zero', 'Keep', 'Reject']),
      'Zero',
    ),
    promoteZero: read('promoteZero', written.promoteZero, parseFlag, false),
    rampSeconds: written.rampSeconds ?? 0,
    drainPercent: written.drainPercent ?? 100,
    restoreHoldSeconds: written.restoreHoldSeconds ?? 120,
    schedule,
  };
}

function rotationOf(fields: Merged, faults: Fault[]): Pick<EffectiveBackend, 'rotation'> {
  const written = fields.get('rotation');
  if (written === undefined) return {};
  const { secret: next, ...times } = written;
  const { window, timeZone } = times;
  const path = (name: string) => `${fields.pathOf('rotation')}.${name}`;
  const opens = window === undefined ? undefined : parseWindow(window, timeZone);
  if (opens !== undefined && 'fault' in opens) faults.push({ path: path('window'), message: opens.fault });
  if (window === undefined && timeZone !== undefined)
    faults.push({ path: path('timeZone'), message: 'there is no window that it would belong to' });
  if (next === undefined) return { rotation: times };
  const parsed = parseSecret(next);
  if ('value' in parsed) return { rotation: { ...times, secret: parsed.value } };
  faults.push({ path: path('secret'), message: parsed.fault });
  return { rotation: times };
}
