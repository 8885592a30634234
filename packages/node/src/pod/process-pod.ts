// A pod as local processes: its volumes as folders, its containers as programs of the image table on an address of its own.
import { type Container, type Pod, sleep, untilAborted } from '@capstan/kube';
import type { ContainerRun } from '../container/container.ts';
import { type PodVolumes, removeFolder } from '../volumes/pod-volumes.ts';
import { createContainerSetup, DEFAULT_GRACE_SECONDS, type ProcessPodOptions } from './container-setup.ts';
import type { PodContext } from './pod-context.ts';
import { processStatus } from './process-status.ts';
import { type References, watchReferences } from './references.ts';
import { createStatusWriter, isStatusBehind } from './status-writer.ts';

/** How long processes have when the node itself stops. */
const NODE_STOP_MS = 5_000;
const MOUNT_RETRY_MS = 2_000;
const TOKEN_POLL_MS = 60_000;

/** Runs until the pod is gone, has ended for good, or the signal is aborted; its processes have ended then. */
export async function runProcessPod(
  context: PodContext,
  options: ProcessPodOptions,
  signal: AbortSignal,
): Promise<void> {
  const { tools, placement, folder } = options;
  const { clock } = tools;
  const first = context.pod();
  const references = watchReferences(tools, first);
  const runs = new Map<string, ContainerRun>();
  const end = AbortSignal.any([signal, context.deletion]);
  let isInitialized = false;
  let outcome: { phase: 'Succeeded' | 'Failed' } | undefined;

  const status = createStatusWriter(context, (pod, now) =>
    processStatus(
      pod,
      {
        placement,
        isInitialized,
        containers: new Map([...runs].map(([name, run]) => [name, run.view()])),
        ...(outcome === undefined ? {} : { end: outcome }),
      },
      now,
    ),
  );
  const off = context.onChange(() => {
    if (isStatusBehind(context.pod())) status.changed();
  });
  try {
    status.changed();
    await references.synced(end);
    const setup = await createContainerSetup(context, options, references, first);
    if (!(await mount(setup.volumes, context, references, end))) return await leave();
    options.onStart(setup.run, (container, streams, limit) => runs.get(container)?.attach(streams, limit));
    const stopRefreshing = keepFresh(setup.volumes, context, references, end);
    const start = (container: Container, policy: 'Always' | 'OnFailure' | 'Never') => {
      const run = setup.start(container, policy, status.changed);
      runs.set(container.name, run);
      return run;
    };
    outcome = await live(first, start, runs, end, () => {
      isInitialized = true;
      status.changed();
    });
    await stopRefreshing();
    if (outcome !== undefined) {
      await stopAll(NODE_STOP_MS);
      await status.flush();
      // The API keeps an ended pod; its folder stays for the logs until it is deleted.
      await untilAborted(end);
    }
    await leave();
  } catch (error) {
    if (!end.aborted) throw error;
    await leave();
  } finally {
    off();
    await stopAll(0);
    await references.release();
  }

  async function leave(): Promise<void> {
    const grace = (context.pod().metadata.deletionGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
    await stopAll(signal.aborted ? Math.min(grace, NODE_STOP_MS) : grace);
    if (!context.deletion.aborted) return;
    await status.flush();
    await context.finalise();
    await removeFolder(folder);
  }

  /** Containers together, then the sidecars, the last first. */
  async function stopAll(graceMs: number): Promise<void> {
    const until = clock.now() + graceMs;
    const hurry = new AbortController();
    const watch = context.onChange(() => {
      if (context.isGone()) hurry.abort();
    });
    if (context.isGone()) hurry.abort();
    const stop = (run: ContainerRun) => run.stop(Math.max(0, until - clock.now()), hurry.signal);
    await Promise.all(runsOf(first.spec?.containers, runs).map(stop));
    for (const run of runsOf(first.spec?.initContainers, runs).toReversed()) await stop(run);
    watch();
  }
}

/** Init containers one after the other, then all others; the pod's outcome, or nothing when it is to end before. */
async function live(
  pod: Pod,
  start: (container: Container, policy: 'Always' | 'OnFailure' | 'Never') => ContainerRun,
  runs: ReadonlyMap<string, ContainerRun>,
  end: AbortSignal,
  initialized: () => void,
): Promise<{ phase: 'Succeeded' | 'Failed' } | undefined> {
  const policy = policyOf(pod);
  const over = untilAborted(end).then(() => 'over' as const);
  for (const container of pod.spec?.initContainers ?? []) {
    if (end.aborted) return undefined;
    if (container.restartPolicy === 'Always') {
      if ((await Promise.race([start(container, 'Always').started, over])) === 'over') return undefined;
      continue;
    }
    const exit = await Promise.race([start(container, policy === 'Never' ? 'Never' : 'OnFailure').ended, over]);
    if (exit === 'over') return undefined;
    if (exit?.exitCode !== 0) return { phase: 'Failed' };
  }
  if (end.aborted) return undefined;
  for (const container of pod.spec?.containers ?? []) start(container, policy);
  initialized();
  const exits = await Promise.race([Promise.all(runsOf(pod.spec?.containers, runs).map(({ ended }) => ended)), over]);
  if (exits === 'over') return undefined;
  return { phase: exits.every((exit) => exit?.exitCode === 0) ? 'Succeeded' : 'Failed' };
}

function runsOf(containers: readonly Container[] = [], runs: ReadonlyMap<string, ContainerRun>): ContainerRun[] {
  return containers.flatMap(({ name }) => runs.get(name) ?? []);
}

function policyOf({ spec }: Pod): 'Always' | 'OnFailure' | 'Never' {
  const policy = spec?.restartPolicy;
  if (policy === 'Never') return 'Never';
  return policy === 'OnFailure' ? 'OnFailure' : 'Always';
}

/** True when all volumes are there; false when the pod is to end before. */
async function mount(
  volumes: PodVolumes,
  context: PodContext,
  references: References,
  end: AbortSignal,
): Promise<boolean> {
  let wake = () => {};
  references.onChange(() => wake());
  for (;;) {
    const problem = await volumes.refresh().catch((error: unknown) => reasonOf(error));
    if (end.aborted) return false;
    if (problem === undefined) return true;
    context.event({ type: 'Warning', reason: 'FailedMount', note: problem });
    const change = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await Promise.race([change, sleep(context.clock, MOUNT_RETRY_MS, end).catch(() => {})]);
    if (end.aborted) return false;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Rewrites volumes when their sources change, and tokens before they expire. */
function keepFresh(
  volumes: PodVolumes,
  context: PodContext,
  references: References,
  end: AbortSignal,
): () => Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([end, stop.signal]);
  let last: Promise<unknown> = Promise.resolve();
  const refresh = () => {
    if (signal.aborted) return;
    last = volumes.refresh().catch((error: unknown) => {
      context.logger.warn('a volume could not be brought up to date', { error });
    });
  };
  references.onChange(refresh);
  const off = context.onChange(refresh);
  const ticking = (async () => {
    while (!signal.aborted) {
      await sleep(context.clock, TOKEN_POLL_MS, signal).catch(() => {});
      refresh();
    }
  })();
  return async () => {
    stop.abort();
    off();
    await ticking;
    await last;
  };
}
