// A remote cluster as a source: its Services and their endpoints by watch. Slices are read where the cluster has them and lets
// us; an older cluster, or a role from before slices, gives Endpoints instead. Nothing is ever written there.
import {
  type Client,
  type Clock,
  createInformer,
  EndpointSlice,
  Endpoints,
  type Informer,
  type InformerEvent,
  type KubeObject,
  keyOf,
  type Logger,
  Namespace,
  type Random,
  Service,
  sleep,
} from '@capstan/kube/cluster';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import { type NamespaceFilter, namespaceFilter } from '../mirror/namespaces.ts';
import type { Problem } from '../mirror/problem.ts';
import { discoveredName } from '../names/discovered-name.ts';
import { createListeners, type Source } from '../sync/source.ts';
import { isDiscovered, mapService, type RemoteService } from './map-service.ts';
import { trimEndpoints, trimService, trimSlice } from './trim.ts';
import { troubleOf } from './trouble.ts';

export interface KubernetesSourceOptions {
  client: Client;
  backend: string;
  namespaces: NamespaceFilter;
  writeEndpoints: boolean;
  /** The remote cluster must be this one; undefined: any. */
  expectIdentity?: string | undefined;
  /** How long it must be watched to count as one look at the whole; default 30,000. */
  cycleMs?: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export function createKubernetesSource(options: KubernetesSourceOptions): Source {
  const { client, backend, clock, random, logger, writeEndpoints } = options;
  const common = { client, clock, random, logger };
  const isWatched = namespaceFilter(options.namespaces);
  const listeners = createListeners();
  const services = createInformer({ ...common, kind: Service, trim: trimService });
  const slices = createInformer({ ...common, kind: EndpointSlice, trim: trimSlice });
  const endpoints = createInformer({ ...common, kind: Endpoints, trim: trimEndpoints });
  /** Remote names by the key here; more than one only where cut names collide. */
  const names = new Map<string, Set<string>>();
  /** Slices by `namespace/name` of their service there. */
  const slicesOf = new Map<string, Map<string, EndpointSlice>>();
  const made = new WeakMap<EndpointSlice, EndpointSlice>();
  let usesEndpoints = false;
  let identity: string | undefined;
  let isIdentified = false;
  let wrong: Problem | undefined;

  const localKey = (namespace: string, name: string) => keyOf({ namespace, name: discoveredName(backend, name) });
  const ofEndpoints = (): Informer<EndpointSlice> | Informer<Endpoints> => (usesEndpoints ? endpoints : slices);

  services.subscribe((events) => {
    const keys = new Set<string>();
    for (const event of events) {
      if (event.type !== 'upsert' && event.type !== 'delete') continue;
      const { namespace = '', name = '' } = event.object.metadata;
      if (!isWatched(namespace)) continue;
      const key = localKey(namespace, name);
      const known = names.get(key) ?? new Set();
      if (event.type === 'upsert' && isDiscovered(event.object)) known.add(name);
      else known.delete(name);
      if (known.size > 0) names.set(key, known);
      else names.delete(key);
      keys.add(key);
    }
    listeners.changed(keys);
    stateOf(events);
  });

  slices.subscribe((events) => {
    const keys = new Set<string>();
    for (const event of events) {
      if (event.type !== 'upsert' && event.type !== 'delete') continue;
      const { object } = event;
      const old = event.type === 'upsert' ? event.old : undefined;
      if (old !== undefined && serviceOf(old) !== serviceOf(object)) moveSlice(old, false, keys);
      moveSlice(object, event.type === 'upsert', keys);
    }
    if (!usesEndpoints) listeners.changed(keys);
    stateOf(events);
  });

  endpoints.subscribe((events) => {
    const keys = new Set<string>();
    for (const event of events) {
      if (event.type !== 'upsert' && event.type !== 'delete') continue;
      const { namespace = '', name = '' } = event.object.metadata;
      if (isWatched(namespace)) keys.add(localKey(namespace, name));
    }
    listeners.changed(keys);
    stateOf(events);
  });

  function moveSlice(slice: EndpointSlice, isThere: boolean, keys: Set<string>): void {
    const { namespace = '', name = '' } = slice.metadata;
    const service = serviceOf(slice);
    if (service === '' || !isWatched(namespace)) return;
    const of = keyOf({ namespace, name: service });
    const some = slicesOf.get(of) ?? new Map<string, EndpointSlice>();
    if (isThere) some.set(name, slice);
    else some.delete(name);
    if (some.size > 0) slicesOf.set(of, some);
    else slicesOf.delete(of);
    keys.add(localKey(namespace, service));
  }

  function stateOf(events: readonly InformerEvent<KubeObject>[]): void {
    if (events.some(({ type }) => type === 'state' || type === 'synced')) listeners.state();
  }

  const isWell = () =>
    wrong === undefined && isIdentified && trouble() === undefined && services.isSynced && ofEndpoints().isSynced;

  function trouble(): Problem | undefined {
    if (wrong !== undefined) return wrong;
    const what = usesEndpoints ? 'endpointslices or endpoints' : 'endpointslices';
    return troubleOf(services.state(), 'services') ?? troubleOf(ofEndpoints().state(), what);
  }

  function find(key: string): Finding {
    const [first, ...others] = [...(names.get(key) ?? [])].toSorted();
    const namespace = key.slice(0, key.indexOf('/'));
    if (first === undefined) return ABSENT;
    const remoteKey = keyOf({ namespace, name: first });
    const service = services.get(remoteKey);
    if (service === undefined) return ABSENT;
    const remote: RemoteService = usesEndpoints
      ? { service, endpoints: endpoints.get(remoteKey) }
      : { service, slices: [...(slicesOf.get(remoteKey)?.values() ?? [])] };
    // Where there are many slices, those that did not change are not made again; where there are few, that would only cost memory.
    const isLarge = (remote.slices?.length ?? 0) >= LARGE_SERVICE;
    const finding = mapService(remote, { backend, writeEndpoints, ...(isLarge && { made }) });
    if (others.length === 0 || finding.state === 'absent') return finding;
    const collisions = others.map(
      (name): Problem => ({
        type: 'NameCollision',
        message: `its name here would be that of the service ${first}, which comes first; rename one of them`,
        namespace,
        name,
      }),
    );
    return { ...finding, problems: [...finding.problems, ...collisions] };
  }

  /** The remote cluster says who it is, once; what it does not let us know is not asked again. */
  async function identify(signal: AbortSignal): Promise<void> {
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        const found = await client.find(Namespace, { name: 'kube-system' }, { signal, metadataOnly: true });
        identity = found?.metadata.uid;
      } catch (error) {
        if (!(error instanceof Error) || !('code' in error) || error.code !== 403) {
          logger.debug('the remote cluster does not say who it is', { error });
          // The informers say in detail what is wrong; here it only matters that it is not known yet.
          await sleep(clock, wait, signal).catch(() => {});
          continue;
        }
      }
      const { expectIdentity } = options;
      if (expectIdentity !== undefined && identity !== undefined && identity !== expectIdentity) {
        wrong = {
          type: 'WrongCluster',
          message: `the credentials lead to another cluster (${identity}) than before (${expectIdentity}): nothing is changed; correct the Secret, or delete and create the backend anew`,
        };
        logger.error(wrong.message);
      }
      isIdentified = true;
      listeners.state();
      return;
    }
  }

  async function watchEndpoints(signal: AbortSignal): Promise<void> {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const refused = slices.subscribe((events) => {
      for (const event of events) {
        if (event.type !== 'state' || slices.isSynced) continue;
        if (event.state.reason === 'NotServed' || event.state.reason === 'Forbidden') stop();
      }
    });
    await slices.run(stopping.signal);
    refused();
    signal.removeEventListener('abort', stop);
    if (signal.aborted) return;
    logger.info('the remote cluster gives no EndpointSlices; its Endpoints are read instead');
    usesEndpoints = true;
    await endpoints.run(signal);
  }

  return {
    get isSynced() {
      return isIdentified && services.isSynced && ofEndpoints().isSynced;
    },
    get isLive() {
      return isWell();
    },
    get trouble() {
      return trouble();
    },
    get identity() {
      return identity;
    },
    keys: () => names.keys(),
    find,
    problems: () => [],
    subscribe: (listener) => listeners.add(listener),
    async run(signal) {
      const cycles = async () => {
        while (!signal.aborted) {
          await sleep(clock, options.cycleMs ?? CYCLE_MS, signal).catch(() => {});
          if (!signal.aborted && isWell()) listeners.cycle();
        }
      };
      await Promise.all([services.run(signal), watchEndpoints(signal), identify(signal), cycles()]);
    },
  };
}

const CYCLE_MS = 30_000;
const LARGE_SERVICE = 8;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

function serviceOf(slice: EndpointSlice): string {
  return slice.metadata.labels?.['kubernetes.io/service-name'] ?? '';
}
