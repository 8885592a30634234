// The local node: one Node object, and for each pod that is bound to it somebody who runs it, really (as local processes)
// or simulated. Each pod is looked after by one task from the moment it is bound until the API has forgotten it.
import {
  type Client,
  type Clock,
  isAborted,
  keyOfObject,
  type Logger,
  Pod,
  type Random,
  sleep,
  type Taint,
} from '@capstan/kube';
import { isEnded, isTerminating } from '../controller/pods.ts';
import { createToolkit } from '../controller/toolkit.ts';
import { type AddressPool, createAddressPool } from '../network/address-pool.ts';
import { createPodFeed, type PodContext, type PodFeed } from '../pod/pod-context.ts';
import { type Placement, type SimulateOptions, simulatePod, type WhySimulated } from '../pod/simulated-pod.ts';
import { type Machine, thisMachine } from './machine.ts';
import { keepRegistered } from './registration.ts';

export interface NodeOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Default `capstan`. */
  name?: string;
  /** Besides those that every node has; default none. */
  labels?: Readonly<Record<string, string>>;
  /** Set when the node is first registered; default none. */
  taints?: readonly Taint[];
  /** Default 110, as a kubelet. */
  maxPods?: number;
  simulate?: SimulateOptions;
  /** Where pods get their addresses; one for all nodes of a process. Default: a pool of its own. */
  addresses?: AddressPool;
  /** Of the node, and of pods on the host's network; default 127.0.0.1. */
  hostIP?: string;
  /** Default: the machine that this process is on. */
  machine?: Machine;
  /** Shown as the kubelet's; default 0.1.0. */
  version?: string;
}

export interface LocalNode {
  readonly name: string;
  /** Runs until the signal is aborted; settles when every pod's task has ended. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

export function createNode(options: NodeOptions): LocalNode {
  const { name = 'capstan', hostIP = '127.0.0.1' } = options;
  const addresses = options.addresses ?? createAddressPool(options.random);

  async function run(signal: AbortSignal): Promise<void> {
    const tools = createToolkit({ ...options, manager: 'kubelet' });
    const pods = tools.cache(Pod);
    const tasks = new Map<string, PodFeed & { task: Promise<void> }>();

    function start(pod: Pod, key: string): void {
      const { uid = '' } = pod.metadata;
      const feed = createPodFeed(tools, pod, key);
      const task = look(feed.context).finally(() => tasks.delete(uid));
      tasks.set(uid, { ...feed, task });
    }

    /** Looks after one pod, again and again if something unforeseen gets in the way. */
    async function look(context: PodContext): Promise<void> {
      const address = addressOf(context.pod());
      try {
        for (;;) {
          try {
            await runPod(context, { hostIP, podIP: address }, signal);
            return;
          } catch (error) {
            if (signal.aborted || isAborted(error)) return;
            context.logger.error('the pod could not be looked after; it is tried again', { error });
            await sleep(tools.clock, RETRY_MS, signal);
          }
        }
      } catch {
        // Stopped while waiting.
      } finally {
        if (address !== hostIP) addresses.release(address);
      }
    }

    function addressOf(pod: Pod): string {
      if (pod.spec?.hostNetwork === true) return hostIP;
      const known = pod.status?.podIP;
      return known !== undefined && addresses.claim(known) ? known : addresses.allocate();
    }

    async function runPod(context: PodContext, placement: Placement, stop: AbortSignal): Promise<void> {
      await simulatePod(context, placement, whySimulated(context.pod()), options.simulate ?? {}, stop);
    }

    await Promise.all([
      tools.run(signal),
      keepRegistered(
        tools,
        {
          name,
          hostIP,
          machine: options.machine ?? thisMachine(),
          labels: options.labels ?? {},
          taints: options.taints ?? [],
          maxPods: options.maxPods ?? 110,
          version: options.version ?? '0.1.0',
        },
        signal,
      ),
      watchPods(),
    ]);

    async function watchPods(): Promise<void> {
      try {
        await pods.synced(signal);
      } catch {
        return;
      }
      const unsubscribe = pods.subscribe((events) => {
        for (const event of events) {
          if (event.type !== 'upsert' && event.type !== 'delete') continue;
          const { object: pod } = event;
          const known = tasks.get(pod.metadata.uid ?? '');
          if (known !== undefined) known.changed(event.type === 'delete' ? undefined : pod);
          else if (event.type === 'upsert' && isOurs(pod) && !signal.aborted) start(pod, keyOfObject(pod));
        }
      });
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      unsubscribe();
      await Promise.all([...tasks.values()].map(({ task }) => task));
    }
  }

  /** An ended pod needs nobody, until it is to be deleted. */
  function isOurs(pod: Pod): boolean {
    return pod.spec?.nodeName === name && (!isEnded(pod) || isTerminating(pod));
  }

  return { name, run };
}

const RETRY_MS = 5_000;

function whySimulated(pod: Pod): WhySimulated {
  const images = (pod.spec?.containers ?? []).map(({ image = '' }) => image);
  return { reason: 'ImageNotKnown', message: `this node does not know how to run ${images.join(', ')}` };
}
