// The current problems. Problems come in scopes (a key, the remote side, the guard). Each new report about a scope replaces the last one,
// so a problem that has ended disappears. A problem that stays is one entry: its count and its time move only when it happened again, not
// when it was merely checked.
import type { Clock } from '@capstan/kube/cluster';
import type { Problem, ProblemType } from '../mirror/problem.ts';

export interface LoggedProblem extends Problem {
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface ProblemLog {
  /** All that is wrong within a scope. `happened`: an attempt went wrong again. Default false: it is so. */
  set(scope: string, problems: readonly Problem[], happened?: boolean): void;
  /** Newest first. */
  list(): LoggedProblem[];
  /** Takes over the problems from before a restart, so that the same problem is not a new one. */
  remember(problems: readonly LoggedProblem[]): void;
  readonly size: number;
  /** Changes whenever a problem comes, goes or reads differently; not with counts. */
  readonly revision: number;
  onChange(listener: () => void): void;
}

export interface ProblemLogOptions {
  clock: Clock;
  /** Called for each problem that is new, or happened again. */
  observe?(type: ProblemType): void;
}

export function createProblemLog({ clock, observe }: ProblemLogOptions): ProblemLog {
  const scopes = new Map<string, Map<string, LoggedProblem>>();
  const remembered = new Map<string, LoggedProblem>();
  const listeners = new Set<() => void>();
  let size = 0;
  let revision = 0;

  return {
    set(scope, problems, happened = false) {
      const before = scopes.get(scope);
      if (before === undefined && problems.length === 0) return;
      const now = clock.now();
      const after = new Map<string, LoggedProblem>();
      let isChanged = false;
      for (const problem of problems) {
        const id = idOf(problem);
        const old = before?.get(id) ?? remembered.get(id);
        remembered.delete(id);
        const isNew = before?.get(id) === undefined;
        const again = happened && !isNew;
        const count = (old?.count ?? 0) + (again || old === undefined ? 1 : 0);
        after.set(id, { ...problem, count, firstAt: old?.firstAt ?? now, lastAt: again ? now : (old?.lastAt ?? now) });
        if (isNew || again) observe?.(problem.type);
        if (isNew || old?.message !== problem.message) isChanged = true;
      }
      const beforeSize = before?.size ?? 0;
      if (after.size > 0) scopes.set(scope, after);
      else scopes.delete(scope);
      size += after.size - beforeSize;
      if (!isChanged && beforeSize === after.size) return;
      revision++;
      for (const listener of listeners) listener();
    },
    list() {
      const all = [...scopes.values()].flatMap((problems) => [...problems.values()]);
      return all.toSorted((a, b) => b.lastAt - a.lastAt || (idOf(a) < idOf(b) ? -1 : 1));
    },
    remember(problems) {
      for (const problem of problems) remembered.set(idOf(problem), problem);
    },
    get size() {
      return size;
    },
    get revision() {
      return revision;
    },
    onChange(listener) {
      listeners.add(listener);
    },
  };
}

function idOf({ type, namespace = '', name = '' }: Problem): string {
  return `${type} ${namespace}/${name}`;
}
