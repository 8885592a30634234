// `gimbal drain` and `gimbal resume`: the field clusterStatus, and how far routes have followed it.
import { findCondition } from '@capstan/kube';
import type { DiscoveryBackend } from '../kinds/index.ts';
import { type FoundBackend, fieldPatch } from './find-backends.ts';
import { BLOCKED, type CommandContext, DONE, follow, type Progress } from './follow.ts';

export interface WaitOptions {
  /** Undefined: do not wait. */
  readonly waitMs: number | undefined;
}

export async function drainBackend(
  found: FoundBackend,
  context: CommandContext,
  { waitMs }: WaitOptions,
): Promise<number> {
  const changed = await setState(found, 'Maintenance', context);
  const name = changed.object.metadata.name ?? '';
  if (waitMs === undefined) {
    context.report(`${name}: maintenance is asked for; "gimbal backends" shows how far it has come`);
    return DONE;
  }
  return follow(changed, context, waitMs, (backend, isNews) => drainProgress(name, backend, isNews));
}

export async function resumeBackend(
  found: FoundBackend,
  context: CommandContext,
  { waitMs }: WaitOptions,
): Promise<number> {
  const changed = await setState(found, 'Enabled', context);
  const name = changed.object.metadata.name ?? '';
  if (waitMs === undefined) {
    context.report(`${name}: it takes traffic again; "gimbal backends" shows how far it has come`);
    return DONE;
  }
  return follow(changed, context, waitMs, (backend, isNews) => resumeProgress(name, backend, isNews));
}

async function setState(
  { kind, object }: FoundBackend,
  state: 'Enabled' | 'Maintenance',
  { client, signal }: CommandContext,
): Promise<FoundBackend> {
  const { namespace = '', name = '' } = object.metadata;
  const patch = fieldPatch(object, ['clusterStatus', 'ClusterStatus'], state);
  const changed = await client.patch(kind, { namespace, name }, 'merge', patch, { fieldManager: 'gimbal', signal });
  return { kind, object: changed };
}

/** Obstacles that waiting does not remove. */
const OBSTACLES = new Set(['NoCapacity', 'NoWeights', 'ConflictingManager', 'Paused', 'Forbidden']);

function drainProgress(name: string, { status }: DiscoveryBackend, isNews: boolean): Progress {
  const refused = refusal(name, status, isNews);
  if (refused !== undefined) return refused;
  const drained = findCondition(status?.conditions, 'Drained');
  const state = status?.maintenance?.state;
  if (!isNews || drained === undefined || (state !== 'Draining' && state !== 'Drained'))
    return { line: `${name}: waiting for the operator` };
  if (drained.status === 'True') return { line: `${name}: drained; ${drained.message}`, code: DONE };
  const line = `${name}: draining; ${drained.message}`;
  if (drained.reason === 'PartialDrain' || OBSTACLES.has(drained.reason))
    return { line: [line, ...blockedLines(status)].join('\n'), code: BLOCKED };
  return { line };
}

function resumeProgress(name: string, { status }: DiscoveryBackend, isNews: boolean): Progress {
  const refused = refusal(name, status, isNews);
  if (refused !== undefined) return refused;
  const drained = findCondition(status?.conditions, 'Drained');
  const state = status?.maintenance?.state ?? 'Active';
  if (!isNews || drained === undefined) return { line: `${name}: waiting for the operator` };
  const weights = findCondition(status?.conditions, 'WeightsRestored');
  if (state === 'Active' && weights?.status === 'False')
    return {
      line: `${name}: it takes traffic, but not every weight could be restored; ${weights.message}`,
      code: BLOCKED,
    };
  if (state === 'Active') return { line: `${name}: it takes traffic; every weight is as it was`, code: DONE };
  if (state === 'Restoring') return { line: `${name}: returning; ${drained.message}` };
  const isScheduled = (status?.effective?.maintenance.schedule.length ?? 0) > 0;
  // Without a schedule it is only that the operator has not come to it yet.
  return {
    line: isScheduled
      ? `${name}: still in maintenance, by its schedule; see spec.maintenance.schedule`
      : `${name}: waiting for the operator`,
  };
}

function refusal(name: string, status: DiscoveryBackend['status'], isNews: boolean): Progress | undefined {
  const accepted = findCondition(status?.conditions, 'Accepted');
  if (!isNews || accepted === undefined || accepted.status === 'True') return undefined;
  return { line: `${name}: not accepted; ${accepted.message}`, code: BLOCKED };
}

function blockedLines(status: DiscoveryBackend['status']): string[] {
  return (status?.maintenance?.blocked ?? []).map(
    ({ kind, namespace, name, rule, reason, message }) =>
      `  ${kind} ${namespace}/${name}${rule === undefined ? '' : ` ${rule}`}: ${reason}${message === undefined ? '' : `: ${message}`}`,
  );
}
