// One container of a pod over its whole life: started, probed, restarted with growing patience when it ends, stopped with grace. It does
// not affect the other containers.
import type { CommandStreams } from '@capstan/apiserver';
import {
  type Clock,
  type Container,
  type ContainerState,
  type ContainerStateTerminated,
  formatTime,
  type Probe,
  sleep,
  untilAborted,
} from '@capstan/kube';
import type { EventText } from '@capstan/reconcile';
import type { LogFile } from '../logs/log-file.ts';
import { createTerminationMessage } from '../logs/termination-message.ts';
import type { Exit, Launch, LaunchOptions, RunningProcess } from '../process/launch.ts';
import { followSizes, inTerminal } from '../process/terminal.ts';
import { type Attachments, createAttachments } from './attachments.ts';
import type { CheckResult } from './check.ts';
import { runProber } from './prober.ts';
import { createRestartWaits } from './restart-waits.ts';

export interface ContainerOptions {
  container: Container;
  /** Whether it is started again when it ends. */
  policy: 'Always' | 'OnFailure' | 'Never';
  /** For messages: `name_namespace(uid)`. */
  podId: string;
  /** The grace of the pod, for containers that end because of their liveness probe. */
  graceSeconds: number;
  clock: Clock;
  launch: Launch;
  /** Returns the program to start, or the reason to wait. It is called before every start. */
  prepare(): Promise<Prepared>;
  openLog(restartCount: number): Promise<LogFile>;
  check(handler: Probe, signal: AbortSignal): Promise<CheckResult>;
  /** Runs one of the hooks of its life; undefined when that went well. */
  hook(name: 'postStart' | 'preStop', signal: AbortSignal): Promise<CheckResult>;
  /** How it was when this node last managed it. */
  restartCount: number;
  lastState?: ContainerState;
  changed(): void;
  event(text: EventText): void;
}

export type Prepared = { start: Pick<LaunchOptions, 'argv' | 'env' | 'cwd' | 'recordFile'> } | { missing: string };

export interface ContainerView {
  state: ContainerState;
  lastState: ContainerState;
  restartCount: number;
  isReady: boolean;
  isStarted: boolean;
}

export interface ContainerRun {
  view(): ContainerView;
  /** Settles when it has ended for good, with its exit; undefined when it never ran. */
  readonly ended: Promise<ContainerStateTerminated | undefined>;
  /** Settles when it runs and its startup probe, if it has one, is content; also when it has ended for good. */
  readonly started: Promise<void>;
  /** Attaches a client to the program until it has ended or the signal is aborted; undefined while none runs. */
  attach(streams: CommandStreams, signal: AbortSignal): Promise<void> | undefined;
  /** Ends it: preStop, then its stop signal, then, after the grace or when `hurry` is aborted, SIGKILL. */
  stop(graceMs: number, hurry?: AbortSignal): Promise<void>;
}

const CONFIG_RETRY_MS = 2_000;
/** The time that is left to a program whose preStop hook used all of its grace. */
const LAST_MS = 2_000;

export function runContainer(options: ContainerOptions): ContainerRun {
  const { container, clock, policy } = options;
  const { name } = container;
  const stopping = new AbortController();
  const restarts = createRestartWaits();
  let running: RunningProcess | undefined;
  let attachments: Attachments | undefined;
  let hasTerminal = false;
  let markStarted = () => {};
  const started = new Promise<void>((resolve) => {
    markStarted = resolve;
  });
  let view: ContainerView = {
    state: { waiting: { reason: 'ContainerCreating' } },
    lastState: options.lastState ?? {},
    restartCount: options.restartCount,
    isReady: false,
    isStarted: false,
  };

  function set(change: Partial<ContainerView>): void {
    view = { ...view, ...change };
    if (view.isStarted) markStarted();
    options.changed();
  }

  /** Waits until the next start is due; false when it is to stop. */
  async function rest(ms: number): Promise<boolean> {
    if (ms > 0) await sleep(clock, ms, stopping.signal).catch(() => {});
    return !stopping.signal.aborted;
  }

  async function prepared(): Promise<Extract<Prepared, { start: unknown }> | undefined> {
    while (!stopping.signal.aborted) {
      const next = await options.prepare();
      if ('start' in next) return next;
      const waiting = { reason: 'CreateContainerConfigError', message: next.missing };
      if (view.state.waiting?.message !== next.missing) {
        options.event({ type: 'Warning', reason: 'Failed', note: `Error: ${next.missing}` });
        set({ state: { waiting } });
      }
      await rest(CONFIG_RETRY_MS);
    }
    return undefined;
  }

  async function live(): Promise<ContainerStateTerminated | undefined> {
    for (;;) {
      const next = await prepared();
      if (next === undefined) return view.state.terminated;
      const began = clock.now();
      const terminated = await runOnce(next.start, began);
      set({ state: { terminated }, isReady: false, isStarted: false });
      const isToRestart = policy === 'Always' || (policy === 'OnFailure' && terminated.exitCode !== 0);
      if (!isToRestart || stopping.signal.aborted) return terminated;
      const wait = restarts.next(clock.now() - began);
      if (wait > 0) {
        const message = `back-off ${formatSeconds(wait)} restarting failed container=${name} pod=${options.podId}`;
        set({ state: { waiting: { reason: 'CrashLoopBackOff', message } }, lastState: { terminated } });
        options.event({ type: 'Warning', reason: 'BackOff', note: `Back-off restarting failed container ${name}` });
      }
      if (!(await rest(wait))) {
        set({ state: { terminated } });
        return terminated;
      }
      view = { ...view, lastState: { terminated }, restartCount: view.restartCount + 1 };
    }
  }

  async function runOnce(
    start: Extract<Prepared, { start: unknown }>['start'],
    began: number,
  ): Promise<ContainerStateTerminated> {
    const log = await options.openLog(view.restartCount);
    const times = () => ({ startedAt: formatTime(began), finishedAt: formatTime(clock.now()) });
    try {
      const words = createTerminationMessage();
      const clients = createAttachments(container);
      const inside = container.tty === true ? await inTerminal(start.argv) : undefined;
      const process = await options.launch({
        ...start,
        ...(inside && { argv: inside, env: { TERM: 'xterm', ...start.env, SHELL: '/bin/sh' } }),
        ...(clients.stdin && { stdin: clients.stdin }),
        async output(stream, chunk) {
          words.hear(chunk);
          await log.write(stream, chunk);
          await clients.output(stream, chunk);
        },
      });
      attachments = clients;
      hasTerminal = inside !== undefined;
      running = process;
      // A user may have wanted it to stop while it was being started.
      if (stopping.signal.aborted) process.kill('SIGKILL');
      const hasStartup = container.startupProbe !== undefined;
      options.event({ reason: 'Started', note: `Container started: ${name}` });
      set({
        state: { running: { startedAt: formatTime(began) } },
        isStarted: !hasStartup,
        isReady: !hasStartup && container.readinessProbe === undefined,
      });
      const watch = new AbortController();
      const watching = watchOver(process, watch.signal);
      const exit = await process.exited;
      watch.abort();
      await watching;
      const isReported = exit.code !== 0 && container.terminationMessagePolicy === 'FallbackToLogsOnError';
      const message = isReported ? words.text() : '';
      return { exitCode: exit.code, reason: reasonOf(exit), ...(message === '' ? {} : { message }), ...times() };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      options.event({ type: 'Warning', reason: 'Failed', note: `Error: ${message}` });
      return { exitCode: 128, reason: 'StartError', message, ...times() };
    } finally {
      running = undefined;
      attachments?.close();
      attachments = undefined;
      await log.close();
    }
  }

  /** Hook and probes of one run. */
  async function watchOver(process: RunningProcess, signal: AbortSignal): Promise<void> {
    const kill = (why: string, grace: number) => {
      options.event({ reason: 'Killing', note: `Container ${name} ${why}, will be restarted` });
      void end(process, grace * 1000);
    };
    if (container.lifecycle?.postStart !== undefined) {
      const failure = await options.hook('postStart', signal);
      if (signal.aborted) return;
      if (failure !== undefined) {
        options.event({ type: 'Warning', reason: 'FailedPostStartHook', note: failure });
        kill('failed its postStart hook', options.graceSeconds);
        return;
      }
    }
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const graceOf = (probe: Probe) => probe.terminationGracePeriodSeconds ?? options.graceSeconds;
    if (startupProbe !== undefined) {
      const phase = new AbortController();
      await probing('Startup', startupProbe, AbortSignal.any([signal, phase.signal]), (isWell) => {
        phase.abort();
        if (isWell) set({ isStarted: true, isReady: readinessProbe === undefined });
        else kill('failed startup probe', graceOf(startupProbe));
      });
      if (signal.aborted || !view.isStarted) return;
    }
    await Promise.all([
      livenessProbe === undefined
        ? undefined
        : probing('Liveness', livenessProbe, signal, (isWell) => {
            if (!isWell) kill('failed liveness probe', graceOf(livenessProbe));
          }),
      readinessProbe === undefined
        ? undefined
        : probing('Readiness', readinessProbe, signal, (isWell) => set({ isReady: isWell })),
    ]);
  }

  function probing(kind: string, probe: Probe, signal: AbortSignal, decided: (isWell: boolean) => void): Promise<void> {
    return runProber({
      probe,
      clock,
      signal,
      decided,
      check: (limit) => options.check(probe, limit),
      failed: (why) => options.event({ type: 'Warning', reason: 'Unhealthy', note: `${kind} probe failed: ${why}` }),
    });
  }

  async function end(process: RunningProcess, graceMs: number, hurry?: AbortSignal): Promise<void> {
    const limit = new AbortController();
    const timer = clock.after(graceMs, () => limit.abort());
    const isOver = hurry === undefined ? limit.signal : AbortSignal.any([limit.signal, hurry]);
    if (container.lifecycle?.preStop !== undefined && graceMs > 0 && !isOver.aborted) {
      const failure = await Promise.race([options.hook('preStop', isOver), process.exited.then(() => undefined)]);
      if (failure !== undefined) options.event({ type: 'Warning', reason: 'FailedPreStopHook', note: failure });
    }
    const wasLate = limit.signal.aborted && hurry?.aborted !== true;
    if (graceMs > 0) process.kill(stopSignalOf(container));
    const patience = new AbortController();
    const last = wasLate ? clock.after(LAST_MS, () => patience.abort()) : undefined;
    await Promise.race([process.exited, untilAborted(wasLate ? patience.signal : isOver)]);
    process.kill('SIGKILL');
    timer.cancel();
    last?.cancel();
    await process.exited;
  }

  const ended = live().finally(() => markStarted());
  return {
    view: () => view,
    ended,
    started,
    attach(streams, signal) {
      if (running !== undefined && hasTerminal && streams.sizes) void followSizes(running.pid, streams.sizes);
      return attachments?.attach(streams, signal);
    },
    async stop(graceMs, hurry) {
      stopping.abort();
      if (running !== undefined) await end(running, graceMs, hurry);
      await ended;
    },
  };
}

function stopSignalOf({ lifecycle }: Container): NodeJS.Signals {
  const signal = lifecycle?.stopSignal;
  return signal !== undefined && SIGNAL_NAME.test(signal) ? (signal as NodeJS.Signals) : 'SIGTERM';
}

const SIGNAL_NAME = /^SIG(?:TERM|INT|HUP|QUIT|KILL|USR1|USR2|ABRT|ALRM|PIPE)$/;

function reasonOf({ code }: Exit): string {
  return code === 0 ? 'Completed' : 'Error';
}

function formatSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`;
}
