// The errors of a backend in one list: those that the operator finds (names, fields, credentials, its discoverer, its routes) and those
// that the discoverer reports. An error that has ended is not in the list; Events show it.
import type { Condition } from '@capstan/reconcile';
import type { DiscoveryBackend } from '../kinds/index.ts';
import {
  type BackendError,
  type BlockedRoute,
  MAX_ERRORS,
  MAX_MESSAGE,
  type MaintenanceStatus,
} from '../kinds/index.ts';

/** A finding of the operator's own; `at` is when it came to be so. */
export interface Finding {
  readonly type: string;
  readonly message: string;
  readonly at: string | undefined;
  readonly namespace?: string;
  readonly name?: string;
}

/** The newest first, each once. `made` stands in for times that are not known. */
export function composeErrors(
  findings: readonly Finding[],
  reported: readonly BackendError[],
  created: string,
): BackendError[] {
  const own = findings.map(
    ({ type, message, at, namespace, name }): BackendError => ({
      statusTime: at || created,
      type,
      message: cut(message),
      count: 1,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
    }),
  );
  const all = new Map<string, BackendError>();
  for (const error of [...own, ...reported]) {
    const id = JSON.stringify([error.type, error.namespace, error.name]);
    // If both report an error, the operator's message counts, because it names the consequence.
    if (!all.has(id)) all.set(id, error);
  }
  const idOf = ({ type, namespace = '', name = '' }: BackendError) => `${type} ${namespace}/${name}`;
  return [...all.values()]
    .toSorted((a, b) => Date.parse(b.statusTime) - Date.parse(a.statusTime) || (idOf(a) < idOf(b) ? -1 : 1))
    .slice(0, MAX_ERRORS);
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
}

/** Returns the errors that the conditions of the backend report. */
export const conditionFindings = ({ status }: DiscoveryBackend): readonly Finding[] => {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  return conditions.flatMap(({ type, status: is, reason, message, lastTransitionTime: at }) => {
    const isReported =
      (type === 'Accepted' && (is === 'False' || reason === 'PrefixOverlap')) ||
      (type === 'CredentialsValid' && (is === 'False' || WARNINGS.has(reason)));
    return isReported ? [{ type: reason, message, at }] : [];
  });
};

/** Returns whether an error is only a warning: everything works in spite of it. */
export function isWarning({ type }: Pick<BackendError, 'type'>): boolean {
  return type === 'PrefixOverlap' || WARNINGS.has(type);
}

const WARNINGS = new Set(['ExpiresSoon', 'BackendNameMismatch']);

/** Routes that maintenance could not bring where they should be. */
export function routeFindings({
  blocked = [],
  since,
}: Pick<MaintenanceStatus, 'blocked' | 'since'>): readonly Finding[] {
  return blocked.filter(isError).map(({ kind, namespace, name, rule, reason, message }) => ({
    type: reason === 'ConflictingManager' ? 'RouteUpdateConflict' : reason,
    message: `${kind} ${namespace}/${name}${rule === undefined ? '' : ` ${rule}`}: ${message ?? reason}`,
    at: since,
    namespace,
    name,
  }));
}

/** Holding and Paused are as a user wants them. */
function isError({ reason }: BlockedRoute): boolean {
  return reason !== 'Holding' && reason !== 'Paused';
}
