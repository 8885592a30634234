// A remote cluster as a source: its Services and their endpoints, as the runtime delivers them (remote-operator.ts), under the
// keys that they have here. Slices are read where the cluster has them and lets us; an older cluster, or a role from before
// slices, gives Endpoints instead. Nothing is ever written there.
import {
  backOff,
  type Client,
  type Clock,
  type EndpointSlice,
  keyOf,
  type Logger,
  Namespace,
  type Random,
  refOfKey,
  sleep,
} from '@capstan/kube/cluster';
import { createRuntime, type SinkBatch, type SinkContext } from '@capstan/reconcile/contract';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import { type NamespaceFilter, namespaceFilter } from '../mirror/namespaces.ts';
import type { Problem } from '../mirror/problem.ts';
import { discoveredName } from '../names/discovered-name.ts';
import { createListeners, type Source } from '../sync/source.ts';
import { mapService } from './map-service.ts';
import { createRemoteOperator, REMOTE, type Remote, type RemoteWatches } from './remote-operator.ts';
import { problemOfWatch } from './watch-problem.ts';

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
  const isWatched = namespaceFilter(options.namespaces);
  const listeners = createListeners();
  /** Keys there by the key here; more than one only where cut names collide. */
  const names = new Map<string, Set<string>>();
  const created = new WeakMap<EndpointSlice, EndpointSlice>();
  let current: SinkContext<Remote, never>['current'] = () => new Map();
  let watches: RemoteWatches = { services: undefined, endpoints: undefined };
  let usesEndpoints = false;
  let isTaken = false;
  let identity: string | undefined;
  let isIdentified = false;
  let wrong: Problem | undefined;

  function taken({ changes, snapshot }: SinkBatch<Remote>): void {
    const keys = new Set<string>();
    for (const { key, after } of changes) {
      const { namespace = '', name } = refOfKey(key);
      const local = keyOf({ namespace, name: discoveredName(backend, name) });
      const known = names.get(local) ?? new Set();
      if (after === undefined) known.delete(key);
      else known.add(key);
      if (known.size > 0) names.set(local, known);
      else names.delete(local);
      keys.add(local);
    }
    isTaken = true;
    listeners.changed(keys);
    if (snapshot) listeners.state();
  }

  const isWell = () => isTaken && isIdentified && failure() === undefined;

  function failure(): Problem | undefined {
    if (wrong !== undefined) return wrong;
    const what = usesEndpoints ? 'endpointslices or endpoints' : 'endpointslices';
    return problemOfWatch(watches.services, 'services') ?? problemOfWatch(watches.endpoints, what);
  }

  function find(key: string): Finding {
    const [first = '', ...others] = [...(names.get(key) ?? [])].toSorted();
    const remote = current().get(first)?.value;
    if (remote === undefined) return ABSENT;
    // Where there are many slices, those that did not change are not created again; where there are few, that would only cost memory.
    const isLarge = (remote.slices?.length ?? 0) >= LARGE_SERVICE;
    const finding = mapService(remote, { backend, writeEndpoints, ...(isLarge && { created }) });
    if (others.length === 0 || finding.state === 'absent') return finding;
    const { namespace = '', name: winner } = refOfKey(first);
    const collisions = others.map(
      (other): Problem => ({
        type: 'NameCollision',
        message: `its name here would be that of the service ${winner}, which comes first; rename one of them`,
        namespace,
        name: refOfKey(other).name,
      }),
    );
    return { ...finding, problems: [...finding.problems, ...collisions] };
  }

  /** The remote cluster shows who it is, once; what it does not let us know is not asked again. */
  async function identify(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const found = await client.find(Namespace, { name: 'kube-system' }, { signal, metadataOnly: true });
        identity = found?.metadata.uid;
      } catch (error) {
        if (!(error instanceof Error) || !('code' in error) || error.code !== 403) {
          logger.debug('the remote cluster does not identify itself', { error });
          // The watches say in detail what is wrong; here it only matters that it is not known yet.
          await sleep(clock, backOff(failures, BACK_OFF, random), signal).catch(() => {});
          continue;
        }
      }
      const { expectIdentity } = options;
      if (expectIdentity !== undefined && identity !== undefined && identity !== expectIdentity) {
        wrong = {
          type: 'WrongCluster',
          message: `the credentials lead to another cluster (${identity}) than before (${expectIdentity}): nothing is changed; correct the Secret, or delete and recreate the backend`,
        };
        logger.error(wrong.message);
      }
      isIdentified = true;
      listeners.state();
      return;
    }
  }

  /** Reads the cluster with its endpoints from one kind; ends early when the cluster refuses slices from the start. */
  async function follow(endpoints: 'EndpointSlice' | 'Endpoints', signal: AbortSignal): Promise<void> {
    const refused = new AbortController();
    const runtime = createRuntime({
      operators: [
        createRemoteOperator({
          endpoints,
          isWatched,
          opened(context) {
            current = context.current;
          },
          taken,
          watched(next) {
            watches = next;
            const reason = next.endpoints?.reason;
            const isRefused = !isTaken && (reason === 'NotServed' || reason === 'Forbidden');
            if (endpoints === 'EndpointSlice' && isRefused) refused.abort();
            else listeners.state();
          },
        }),
      ],
      clock,
      random,
      logger,
      deliveryHistory: false,
    });
    runtime.addWorld({ name: REMOTE, role: REMOTE, client });
    await runtime.run(AbortSignal.any([signal, refused.signal]));
  }

  async function followAll(signal: AbortSignal): Promise<void> {
    await follow('EndpointSlice', signal);
    if (signal.aborted) return;
    logger.info('the remote cluster gives no EndpointSlices; its Endpoints are read instead');
    usesEndpoints = true;
    watches = { services: undefined, endpoints: undefined };
    await follow('Endpoints', signal);
  }

  return {
    get isSynced() {
      return isIdentified && isTaken;
    },
    get isLive() {
      return isWell();
    },
    get failure() {
      return failure();
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
      await Promise.all([followAll(signal), identify(signal), cycles()]);
    },
  };
}

const CYCLE_MS = 30_000;
const LARGE_SERVICE = 8;
const BACK_OFF = { firstMs: 500, longestMs: 30_000 };
