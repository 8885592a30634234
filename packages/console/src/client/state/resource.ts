// Answers of the server as signals of a component: loaded when the path changes, and again after a gap in the stream.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get, Problem } from './api.ts';
import { onEvent } from './stream.ts';

export interface Loaded<T> {
  readonly path: string;
  readonly data?: T;
  readonly problem?: Problem;
}

export interface Resource<T> {
  readonly loaded: Signal<Loaded<T>>;
  reload(): void;
  /** Loads again at most once in a second, whatever the number of calls. */
  reloadSoon(): void;
}

const SOON_MS = 1000;

/** An undefined path loads nothing. */
export function useResource<T>(path: string | undefined): Resource<T> {
  const loaded = useSignal<Loaded<T>>({ path: '' });
  const running = useRef<AbortController>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wanted = useRef(path);
  wanted.current = path;

  const reload = () => {
    running.current?.abort();
    const target = wanted.current;
    if (target === undefined) return;
    const stop = new AbortController();
    running.current = stop;
    get<T>(target, stop.signal).then(
      (data) => {
        if (!stop.signal.aborted) loaded.value = { path: target, data };
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        const { data, path: of } = loaded.peek();
        // Data that was there stays while the server does not answer.
        const isKept = problem.status === 0 && of === target && data !== undefined;
        loaded.value = { path: target, problem, ...(isKept && { data }) };
      },
    );
  };
  const reloadSoon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      reload();
    }, SOON_MS);
  };
  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [path]);
  useEffect(() => {
    const stop = onEvent('gap', reload);
    return () => {
      stop();
      clearTimeout(timer.current);
    };
  }, []);
  return { loaded, reload, reloadSoon };
}

/** Runs the effect of an event for as long as the component is shown. */
export function useEvent<K extends Parameters<typeof onEvent>[0]>(
  type: K,
  handle: Parameters<typeof onEvent<K>>[1],
): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => onEvent(type, (data) => latest.current(data)), [type]);
}
