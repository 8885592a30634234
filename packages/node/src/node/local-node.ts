// The local node: one Node object, and for each pod that is bound to it a runner, either real (as local processes)
// or simulated. Each pod is managed by one task from the moment it is bound until the API has forgotten it.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import type { PodStreams } from '@capstan/apiserver';
import {
  type Client,
  type Clock,
  isAborted,
  keyOfObject,
  type Logger,
  Pod,
  type Random,
  reasonOf,
  sleep,
  type Taint,
  untilAborted,
} from '@capstan/kube';
import { isEnded, isTerminating } from '../controller/pods.ts';
import { createToolkit } from '../controller/toolkit.ts';
import { findImage, type KnownImage } from '../images/image-table.ts';
import type { LogOptions } from '../logs/read-log.ts';
import { addressProblem } from '../network/address-check.ts';
import { type AddressPool, createAddressPool } from '../network/address-pool.ts';
import type { ProcessPodOptions } from '../pod/container-setup.ts';
import { createPodFeed, type PodContext, type PodFeed } from '../pod/pod-context.ts';
import { createPodLogs } from '../pod/pod-logs.ts';
import { createNodeStreams } from '../pod/pod-streams.ts';
import { runProcessPod } from '../pod/process-pod.ts';
import { missingReference } from '../pod/required-references.ts';
import { type Placement, type SimulateOptions, simulatePod, type WhySimulated } from '../pod/simulated-pod.ts';
import { holdPod } from '../pod/unrunnable-pod.ts';
import { type Launch, launch } from '../process/launch.ts';
import { endOrphans } from '../process/orphans.ts';
import { removeFolder, unsupportedVolume } from '../volumes/pod-volumes.ts';
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
  /** Images that can be run here, the first that matches; default none: every pod is simulated. */
  images?: readonly KnownImage[];
  /** Where pods have their folders; without it every pod is simulated. */
  dataDir?: string;
  /** Where pods reach the API server; default: they get no address. */
  apiServer?: { host: string; port: number };
  /** The environment of every process unless its pod sets another value; default: PATH of this process. */
  hostEnv?: Readonly<Record<string, string>>;
  /** How programs are started; default: as processes. */
  launch?: Launch;
  /** The handling of pods that cannot run here: shown as if they ran (the default), or left waiting as for a missing image. */
  unknownImages?: 'simulate' | 'fail';
  simulate?: SimulateOptions;
  /** Where pods get their addresses; one for all nodes of a process. Default: a pool of its own. */
  addresses?: AddressPool;
  /** The address of the node, and of pods on the host's network; default 127.0.0.1. */
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
  /**
   * Returns the output of a container, in pieces of whole lines; without a container's name, that of the only one. Throws when there is no
   * such pod or container here, or nothing to read yet.
   */
  logs(namespace: string, pod: string, container?: string, options?: LogOptions): Promise<AsyncIterable<string>>;
  /** Connections to pods that run here as processes: commands beside them, their output, their ports. */
  readonly streams: PodStreams;
}

export function createNode(options: NodeOptions): LocalNode {
  const { name = 'capstan', hostIP = '127.0.0.1', images = [], dataDir, clock } = options;
  const addresses = options.addresses ?? createAddressPool(options.random);
  const podsFolder = dataDir === undefined ? undefined : join(dataDir, 'pods');
  const machine = options.machine ?? thisMachine();
  const maxPods = options.maxPods ?? 110;
  const logs = createPodLogs(options.client, name, podsFolder, clock);
  const streams = createNodeStreams(options.client, name);

  async function run(outer: AbortSignal): Promise<void> {
    const failing = new AbortController();
    const signal = AbortSignal.any([outer, failing.signal]);
    const tools = createToolkit({ ...options, manager: 'kubelet' });
    const pods = tools.cache(Pod);
    const tasks = new Map<string, PodFeed & { task: Promise<void> }>();

    function start(pod: Pod, key: string): void {
      const { uid = '' } = pod.metadata;
      const feed = createPodFeed(tools, pod, key);
      const task = check(feed.context).finally(() => tasks.delete(uid));
      tasks.set(uid, { ...feed, task });
    }

    /** Manages one pod, again and again if something unforeseen gets in the way. */
    async function check(context: PodContext): Promise<void> {
      const address = addressOf(context.pod());
      try {
        for (;;) {
          try {
            await runPod(context, { hostIP, podIP: address }, signal);
            return;
          } catch (error) {
            if (signal.aborted || isAborted(error)) return;
            context.logger.error('the pod could not be synchronised; it is retried', { error });
            context.event({ type: 'Warning', reason: 'FailedSync', note: `error running pod: ${reasonOf(error)}` });
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
      const why = await whySimulated(context.pod(), placement.podIP);
      if (options.unknownImages === 'fail' && (why !== undefined || podsFolder === undefined)) {
        const isKnown = (image: string) => findImage(images, image) !== undefined;
        if ((await holdPod(context, placement, why ?? NO_FOLDER, isKnown, stop)) === 'gone') return;
        await runPod(context, placement, stop);
        return;
      }
      if (why !== undefined || podsFolder === undefined) {
        const findMissing = (pod: Pod) => missingReference(tools, pod);
        await simulatePod(context, placement, why ?? NO_FOLDER, options.simulate ?? {}, findMissing, stop);
        return;
      }
      const process: ProcessPodOptions = {
        tools,
        placement,
        imageOf: (image) => findImage(images, image) ?? { match: image, entrypoint: [] },
        folder: join(podsFolder, context.uid),
        allocatable: { cpu: String(machine.cpus), memory: String(machine.memoryBytes) },
        launch: options.launch ?? launch,
        hostEnv: options.hostEnv ?? { PATH: env['PATH'] ?? '' },
        ...(options.apiServer === undefined ? {} : { apiServer: options.apiServer }),
        onStart: (run, attach) => streams.opened(context.uid, { run, attach }),
        onLog: (container, restartCount, isOpen) => logs.opened(context.uid, container, restartCount, isOpen),
      };
      try {
        await runProcessPod(context, process, stop);
      } finally {
        logs.forget(context.uid);
        streams.forget(context.uid);
      }
    }

    if (podsFolder !== undefined) await endOrphans(podsFolder, clock, options.logger);
    const parts = [
      tools.run(signal),
      keepRegistered(
        tools,
        {
          name,
          hostIP,
          machine,
          labels: options.labels ?? {},
          taints: options.taints ?? [],
          maxPods,
          version: options.version ?? '0.1.0',
        },
        signal,
      ),
      watchPods(),
    ];
    try {
      await Promise.all(parts);
    } finally {
      // Whichever part ended first, and how: processes of pods are ended before this is over.
      failing.abort();
      await Promise.allSettled(parts);
    }

    async function watchPods(): Promise<void> {
      try {
        await pods.synced(signal);
      } catch {
        return;
      }
      if (podsFolder !== undefined)
        await dropFolders(podsFolder, new Set(pods.list().map(({ metadata }) => metadata.uid)));
      const unsubscribe = pods.subscribe((events) => {
        for (const event of events) {
          if (event.type !== 'upsert' && event.type !== 'delete') continue;
          const { object: pod } = event;
          const known = tasks.get(pod.metadata.uid ?? '');
          if (known !== undefined) known.changed(event.type === 'delete' ? undefined : pod);
          else if (event.type === 'upsert' && isOurs(pod) && !signal.aborted) start(pod, keyOfObject(pod));
        }
      });
      await untilAborted(signal);
      unsubscribe();
      await Promise.all([...tasks.values()].map(({ task }) => task));
    }
  }

  /** An ended pod needs no runner, until it is to be deleted. */
  function isOurs(pod: Pod): boolean {
    return pod.spec?.nodeName === name && (!isEnded(pod) || isTerminating(pod));
  }

  /** Undefined when the pod can really be run. */
  async function whySimulated(pod: Pod, address: string): Promise<WhySimulated | undefined> {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const unknown = containers.map(({ image = '' }) => image).filter((image) => findImage(images, image) === undefined);
    if (unknown.length > 0) {
      const message = `this node does not know how to run ${[...new Set(unknown)].join(', ')}`;
      return { reason: 'ImageNotKnown', message };
    }
    const volume = unsupportedVolume(pod);
    if (volume !== undefined) return { reason: 'VolumeNotSupported', message: volume };
    const problem = await addressProblem(address);
    if (problem !== undefined) return { reason: 'AddressNotAvailable', message: problem };
    return undefined;
  }

  return { name, run, logs: logs.read, streams };
}

const RETRY_MS = 5_000;
const NO_FOLDER: WhySimulated = {
  reason: 'NoDataFolder',
  message: 'this node has no folder for the files of pods, so it only simulates them',
};

/** Folders of pods that the API has forgotten while this node was away. */
async function dropFolders(folder: string, known: ReadonlySet<string | undefined>): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (!known.has(name)) await removeFolder(join(folder, name));
}
