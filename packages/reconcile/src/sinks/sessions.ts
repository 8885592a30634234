// Opens a sink and calls its `take`, each with a time limit, and never two at a time. A `take` that has not returned in time has
// failed, but it may still act outside: the next one waits until it has returned. One that does not return for ten times its
// limit is given up with its session, which is fenced: it may not act or report any more, and the next session has a higher
// generation.
import { type Clock, formatTime, type Logger, type Random } from '@capstan/kube/cluster';
import { SinkErrors } from '../errors.ts';
import { AuthorErrors, checkPlain } from '../guard.ts';
import { atMost, within, withSignal } from '../within.ts';
import type { SinkBatch, SinkContext, SinkDefinition, SinkResult, SinkSession } from './sink.ts';

export interface SessionsOptions
  extends Pick<SinkContext<unknown, unknown>, 'current' | 'report' | 'mayAct' | 'world' | 'signal'> {
  readonly id: string;
  readonly sink: SinkDefinition;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** A `take` has not returned in time. */
  late(): void;
  /** No `take` is under way any more: it has returned, or its session was given up. */
  free(isAbandoned: boolean): void;
}

export interface Sessions {
  /** Delivers a batch; the session is opened first where there is none. */
  take(
    batch: Pick<SinkBatch<unknown>, 'changes' | 'snapshot' | 'withdrawal'>,
    outer: AbortSignal | undefined,
  ): Promise<SinkResult>;
  /** Whether a `take` has not returned yet, in time or not. */
  readonly isBusy: boolean;
  /** The error to show while a `take` is late. */
  waiting(): Error | undefined;
  /** Waits for a `take` whose signal was aborted, but not for long. */
  rest(): Promise<void>;
  /** Closes the outside, within a limit. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
/** How long the end of the program waits for a session that does not heed its signal, or does not close. */
const STOP_MS = 5_000;
/** After so many times its limit, a `take` is given up with its session. */
const PATIENCE = 10;

const DONE: SinkResult = { failed: new Map() };

/** Whether an error is that of something that did not end in time. */
export function isTimeout(error: unknown): boolean {
  return timeouts.has(error as object);
}

const timeouts = new WeakSet<object>();

interface Running {
  readonly since: number;
  readonly ended: Promise<void>;
  isLate: boolean;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { id, sink, clock, random, logger } = options;
  const { timeoutMs = TIMEOUT_MS } = sink;
  let generation = 0;
  let session: Promise<SinkSession<unknown>> | undefined;
  let running: Running | undefined;

  function opened(): Promise<SinkSession<unknown>> {
    session ??= openSession().catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  }

  async function openSession(): Promise<SinkSession<unknown>> {
    const own = ++generation;
    const isCurrent = () => own === generation && !options.signal.aborted;
    const opening = (async () =>
      sink.open({
        current: options.current,
        report(key, row) {
          if (!isCurrent()) return;
          checkPlain(`the report of the sink ${sink.name} on ${key}`, row);
          options.report(key, row);
        },
        mayAct: () => isCurrent() && options.mayAct(),
        world: options.world,
        signal: options.signal,
        clock,
        random,
        logger,
      }))();
    try {
      const found = await within(clock, timeoutMs, options.signal, () => opening);
      if (typeof (found as Partial<SinkSession<unknown>> | undefined)?.take === 'function') return found;
    } catch (error) {
      const isOver = own === generation && !(await hasEnded(opening));
      if (!isOver) throw error;
      generation++;
      // A session that opens after all is closed at once: there may be another by then.
      opening
        .then((late) => late.close?.())
        .catch((failure: unknown) => logger.warn('a sink that opened late could not be closed', { error: failure }));
      throw timedOut(SinkErrors.NotOpened(id, timeoutMs));
    }
    throw AuthorErrors.NotOfType(`open of the sink ${id}`, 'an object with take()', 'something else');
  }

  function start(found: SinkSession<unknown>, batch: Parameters<Sessions['take']>[0], signal: AbortSignal) {
    const work = (async () => found.take({ ...batch, generation, signal }))();
    const mine: Running = {
      since: clock.now(),
      isLate: false,
      ended: work.then(
        () => over(mine, false),
        () => over(mine, false),
      ),
    };
    running = mine;
    return work;
  }

  function over(mine: Running, isAbandoned: boolean): void {
    if (running !== mine) return;
    running = undefined;
    options.free(isAbandoned);
  }

  /** The take did not heed its signal in time: its session is given up, when it does not return for long. */
  function waitFor(mine: Running): void {
    mine.isLate = true;
    logger.warn('a delivery has not returned in time; the next one waits for it', { waitMs: timeoutMs * PATIENCE });
    const timer = clock.after(timeoutMs * PATIENCE, () => {
      if (running !== mine) return;
      logger.error('a delivery does not return; the session is given up, and the sink is opened again');
      const lost = session;
      session = undefined;
      generation++;
      void closeSession(lost);
      over(mine, true);
    });
    void mine.ended.then(() => timer.cancel());
    options.late();
  }

  async function closeSession(last: Promise<SinkSession<unknown>> | undefined): Promise<void> {
    if (last === undefined) return;
    try {
      await within(clock, STOP_MS, undefined, async () => (await last).close?.());
    } catch (error) {
      logger.error('could not close the sink', { error });
    }
  }

  return {
    async take(batch, outer) {
      const found = outer === undefined ? await opened() : await withSignal(opened(), outer);
      if (running !== undefined) throw SinkErrors.Waiting(id, formatTime(running.since));
      try {
        const result: unknown = await within(clock, timeoutMs, outer, (signal) => start(found, batch, signal));
        return checkedResult(id, result);
      } catch (error) {
        const mine = running as Running | undefined;
        if (mine === undefined || outer?.aborted || clock.now() - mine.since < timeoutMs) throw error;
        waitFor(mine);
        throw timedOut(SinkErrors.NoReturn(id, timeoutMs));
      }
    },
    get isBusy() {
      return running !== undefined;
    },
    waiting: () => (running?.isLate ? SinkErrors.Waiting(id, formatTime(running.since)) : undefined),
    async rest() {
      if (running !== undefined) await atMost(clock, STOP_MS, running.ended);
    },
    async close() {
      const last = session;
      session = undefined;
      await closeSession(last);
    },
  };
}

function timedOut<E extends Error>(error: E): E {
  timeouts.add(error);
  return error;
}

async function hasEnded(work: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const first = await Promise.race([work, Promise.resolve(pending)]).catch(() => undefined);
  return first !== pending;
}

/** Returns the checked result of a batch. */
function checkedResult(id: string, result: unknown): SinkResult {
  const failed = (result as Partial<SinkResult> | undefined | null)?.failed;
  if (failed === undefined) return DONE;
  if (failed instanceof Map) return { failed: failed as ReadonlyMap<string, unknown> };
  throw AuthorErrors.NotOfType(`take of the sink ${id}`, '{ failed: a Map by key }', 'something else');
}
