// Reports of operators: loaded when their page opens, and again after changes.
import type { UnknownAnswer } from '../../api-types.ts';
import { route } from './location.ts';
import { type Loaded, useEvent, useResource } from './resource.ts';
import { reports } from './world.ts';

export interface ReportState<T> {
  readonly data: T | undefined;
  readonly unknown: UnknownAnswer | undefined;
  readonly problem: Loaded<T>['problem'];
}

export function useReport<T extends object>(path: string | undefined): ReportState<T> {
  const { loaded, reloadSoon } = useResource<T | UnknownAnswer>(path);
  useEvent('changes', reloadSoon);
  // Caches that filled may make known parts that were not.
  useEvent('sync', reloadSoon);
  const { data, problem } = loaded.value;
  if (data !== undefined && isUnknown(data)) return { data: undefined, unknown: data, problem };
  return { data, unknown: undefined, problem };
}

export function isUnknown(answer: object): answer is UnknownAnswer {
  return 'unknown' in answer;
}

/** The name of the report that the address asks for, below the page: `default/edge`; the first one by default. */
export function chosenReport(page: string): string | undefined {
  const { parts } = route.value;
  if (parts.length > 0) return parts.join('/');
  return reports.value.find(({ name }) => name.startsWith(`${page}/`))?.name.slice(page.length + 1);
}

export function encodePath(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}
