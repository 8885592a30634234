// From two effective configurations to the smallest set of actions that leads from one to the other. Pure.
import { equal } from '@capstan/kube';
import { type ChangeClass, changeClassesOf, type ServerName, serverOf } from './change-class.ts';
import type { EffectiveConfiguration } from './effective.ts';
import { LEAVES, valueAt } from './fields.ts';

export interface Change {
  /** `envoy.http.port`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly classes: readonly ChangeClass[];
}

/** The leaves that differ, in the order of the schema. */
export function changesBetween(before: EffectiveConfiguration, after: EffectiveConfiguration): Change[] {
  if (before === after) return [];
  return LEAVES.flatMap((path): Change[] => {
    const [left, right] = [valueAt(before, path), valueAt(after, path)];
    return equal(left, right) ? [] : [{ path, before: left, after: right, classes: changeClassesOf(path) }];
  });
}

export type Action =
  | { readonly action: 'rebind'; readonly server: ServerName }
  | { readonly action: 'restart-controllers' }
  | { readonly action: 'rebuild-routes' }
  | { readonly action: 'update-listeners' }
  | { readonly action: 'rewrite-status' }
  | { readonly action: 'set-log-level' }
  | { readonly action: 'roll-envoy' };

/**
 * The smallest actions for a set of changes, each once, in the order in which they are carried out. A restart of the controllers
 * computes everything again, so it replaces the smaller actions of the same controllers; sockets are rebound all the same.
 */
export function actionsFor(changes: readonly Change[]): Action[] {
  const classes = new Set(changes.flatMap((change) => change.classes));
  const servers = new Set<ServerName>();
  for (const change of changes)
    if (change.classes.includes('Rebind')) {
      const server = serverOf(change.path);
      if (server !== undefined) servers.add(server);
    }
  const isRestart = classes.has('Restart');
  const isListeners = classes.has('Listeners') || classes.has('ListenerSockets');
  return [
    ...(classes.has('Log') ? [{ action: 'set-log-level' } as const] : []),
    ...(isRestart ? [{ action: 'restart-controllers' } as const] : []),
    ...(!isRestart && classes.has('Routes') ? [{ action: 'rebuild-routes' } as const] : []),
    ...(!isRestart && isListeners ? [{ action: 'update-listeners' } as const] : []),
    ...(!isRestart && classes.has('Status') ? [{ action: 'rewrite-status' } as const] : []),
    ...SERVERS.filter((server) => servers.has(server)).map((server) => ({ action: 'rebind', server }) as const),
    ...(classes.has('EnvoyRollout') ? [{ action: 'roll-envoy' } as const] : []),
  ];
}

const SERVERS: readonly ServerName[] = ['health', 'metrics', 'debug', 'xds'];
