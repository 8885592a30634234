// A cluster as the remote side: read by a runtime of its own, as a world with the role `remote`. Objects are mapped when they are read;
// only the caches of the watches are kept.
import {
  backOff,
  type Client,
  type Clock,
  type EndpointSlice,
  keyOf,
  type Logger,
  type Random,
  refOfKey,
  sleep,
} from '@capstan/kube/cluster';
import { createRuntime } from '@capstan/reconcile/contract';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import { type NamespaceFilter, namespaceFilter } from '../mirror/namespaces.ts';
import type { Problem } from '../mirror/problem.ts';
import { discoveredName } from '../names/discovered-name.ts';
import type { RemoteReceiver, RemoteSide } from '../remote-side.ts';
import { openingProblem } from './connect.ts';
import { mapService } from './map-service.ts';
import { createRemoteOperator, REMOTE, type Remote, type RemoteWatches } from './remote-operator.ts';
import { problemOfWatch } from './watch-problem.ts';

export interface KubernetesSourceOptions {
  /** The client of the remote cluster; opened as soon as its credentials are there and can be read. */
  client: Client | (() => Promise<Client>);
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

export function createKubernetesSource(options: KubernetesSourceOptions): RemoteSide<Remote> {
  const { backend, clock, random, logger, writeEndpoints } = options;
  const isWatched = namespaceFilter(options.namespaces);
  const created = new WeakMap<EndpointSlice, EndpointSlice>();
  let watches: RemoteWatches = NO_PROBLEM;
  let usesEndpoints = false;
  let isTaken = false;
  let identity: string | undefined;
  let isIdentified = false;
  /** The credentials cannot be used, or lead to another cluster. */
  let wrong: Problem | undefined;

  const isWell = () => isTaken && isIdentified && failure() === undefined;

  function failure(): Problem | undefined {
    if (wrong !== undefined) return wrong;
    const what = usesEndpoints ? 'endpointslices or endpoints' : 'endpointslices';
    return problemOfWatch(watches.services, 'services') ?? problemOfWatch(watches.endpoints, what);
  }

  function find(_unit: string, [first, ...others]: readonly (readonly [string, Remote])[]): Finding {
    const [key, remote] = first ?? [''];
    if (remote === undefined) return ABSENT;
    // Where there are many slices, those that did not change are not created again; where there are few, that would only cost memory.
    const isLarge = (remote.slices?.length ?? 0) >= LARGE_SERVICE;
    const finding = mapService(remote, { backend, writeEndpoints, ...(isLarge && { created }) });
    if (others.length === 0 || finding.state === 'absent') return finding;
    const { namespace = '', name: winner } = refOfKey(key);
    const collisions = others.map(
      ([other]): Problem => ({
        type: 'NameCollision',
        message: `its name here would be that of the service ${winner}, which comes first; rename one of them`,
        namespace,
        name: refOfKey(other).name,
      }),
    );
    return { ...finding, problems: [...finding.problems, ...collisions] };
  }

  /** Tries until the credentials are there: a Secret that is missing now may be created later. */
  async function connect(receiver: RemoteReceiver<Remote>, signal: AbortSignal): Promise<Client | undefined> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const client = typeof options.client === 'function' ? await options.client() : options.client;
        wrong = undefined;
        return client;
      } catch (error) {
        if (signal.aborted) return undefined;
        wrong = openingProblem(error);
        logger.error(wrong.message, { type: wrong.type });
        receiver.stateChanged();
        await sleep(clock, backOff(failures, BACK_OFF), signal).catch(() => {});
      }
    }
    return undefined;
  }

  function identified(uid: string | undefined): void {
    const { expectIdentity } = options;
    identity = uid;
    isIdentified = true;
    if (expectIdentity === undefined || uid === undefined || uid === expectIdentity) return;
    wrong = {
      type: 'WrongCluster',
      message: `the credentials lead to another cluster (${uid}) than before (${expectIdentity}): nothing is changed; correct the Secret, or delete and recreate the backend`,
    };
    logger.error(wrong.message);
  }

  /** Reads the cluster with its endpoints from one kind; ends early when the cluster refuses slices from the start. */
  async function follow(
    client: Client,
    endpoints: 'EndpointSlice' | 'Endpoints',
    receiver: RemoteReceiver<Remote>,
    signal: AbortSignal,
  ): Promise<void> {
    const refused = new AbortController();
    const runtime = createRuntime({
      operators: [
        createRemoteOperator({
          client,
          endpoints,
          isWatched,
          open(context) {
            const { take } = receiver.open(context);
            return {
              take(batch) {
                isTaken = true;
                return take(batch);
              },
            };
          },
          watched(next) {
            watches = next;
            const reason = next.endpoints?.reason;
            const isRefused = !isTaken && (reason === 'NotServed' || reason === 'Forbidden');
            if (endpoints === 'EndpointSlice' && isRefused) refused.abort();
            else receiver.stateChanged();
          },
          identified({ uid }) {
            identified(uid);
            receiver.stateChanged();
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

  async function followAll(receiver: RemoteReceiver<Remote>, signal: AbortSignal): Promise<void> {
    const client = await connect(receiver, signal);
    if (client === undefined) return;
    await follow(client, 'EndpointSlice', receiver, signal);
    if (signal.aborted) return;
    logger.info('the remote cluster gives no EndpointSlices; its Endpoints are read instead');
    usesEndpoints = true;
    watches = NO_PROBLEM;
    await follow(client, 'Endpoints', receiver, signal);
  }

  return {
    get isLive() {
      return isWell();
    },
    get failure() {
      return failure();
    },
    get identity() {
      return identity;
    },
    problems: () => [],
    unitOfKey(key) {
      const { namespace = '', name } = refOfKey(key);
      return keyOf({ namespace, name: discoveredName(backend, name) });
    },
    find,
    async run(receiver, signal) {
      const cycles = async () => {
        while (!signal.aborted) {
          await sleep(clock, options.cycleMs ?? CYCLE_MS, signal).catch(() => {});
          if (!signal.aborted && isWell()) receiver.confirmed();
        }
      };
      await Promise.all([followAll(receiver, signal), cycles()]);
    },
  };
}

const NO_PROBLEM: RemoteWatches = { services: undefined, endpoints: undefined };
const CYCLE_MS = 30_000;
const LARGE_SERVICE = 8;
const BACK_OFF = { firstMs: 5_000, longestMs: 300_000 };
