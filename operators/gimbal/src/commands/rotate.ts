// `gimbal rotate`: another Secret, and whether its credentials have come into force.
import { findCondition, formatTime } from '@capstan/kube';
import type { DiscoveryBackend } from '../kinds/index.ts';
import { ROTATE_NOW } from '../reconcilers/credentials.ts';
import { type FoundBackend, fieldPatch } from './find-backends.ts';
import { BLOCKED, type CommandContext, DONE, follow, type Progress } from './follow.ts';

export interface RotateOptions {
  readonly secret: string;
  /** Rotate outside of the rotation window too. */
  readonly isNow: boolean;
  /** Undefined: do not wait. */
  readonly waitMs: number | undefined;
}

export async function rotateBackend(
  { kind, object }: FoundBackend,
  context: CommandContext,
  { secret, isNow, waitMs }: RotateOptions,
): Promise<number> {
  const { client, clock, signal, report } = context;
  const { namespace = '', name = '' } = object.metadata;
  const patch = {
    ...rotationPatch(object, secret),
    // A value of its own: each is followed once.
    ...(isNow && { metadata: { annotations: { [ROTATE_NOW]: formatTime(clock.now()) } } }),
  };
  const changed = await client.patch(kind, { namespace, name }, 'merge', patch, { fieldManager: 'gimbal', signal });
  if (waitMs === undefined) {
    report(`${name}: the credentials in the Secret ${secret} are asked for`);
    return DONE;
  }
  const found = { kind, object: changed as DiscoveryBackend };
  return follow(found, context, waitMs, (backend, isNews) => progressOf(name, secret, backend, isNews));
}

/** The Secret that was to come next no longer is: it would go before the one that is asked for now. */
export function rotationPatch(object: Pick<DiscoveryBackend, 'spec' | 'cluster'>, secret: string): object {
  const patch: Record<string, object> = {
    ...fieldPatch(object, ['secret', 'credentials', 'secretName', 'secretRef'], secret),
  };
  for (const place of ['spec', 'cluster'] as const) {
    if (object[place]?.rotation?.secret !== undefined) patch[place] = { ...patch[place], rotation: { secret: null } };
  }
  return patch;
}

function progressOf(name: string, secret: string, { status, metadata }: DiscoveryBackend, isNews: boolean): Progress {
  const accepted = findCondition(status?.conditions, 'Accepted');
  if (isNews && accepted?.status === 'False')
    return { line: `${name}: not accepted; ${accepted.message}`, code: BLOCKED };
  const valid = findCondition(status?.conditions, 'CredentialsValid');
  const pending = findCondition(status?.conditions, 'RotationPending');
  // Conditions of before the change say nothing about it.
  const isJudged = isNews && (valid?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  if (!isJudged || valid === undefined) return { line: `${name}: waiting for the operator to try the credentials` };
  if (valid.status === 'False' && REFUSED.has(valid.reason))
    return { line: `${name}: ${valid.message}`, code: BLOCKED };
  if (pending?.status === 'True') return { line: `${name}: ${pending.message}` };
  // Until the new ones are in force, it is the old ones that the discoverer reports about.
  const isInForce = status?.credentials?.source === secret;
  if (isInForce && valid.reason === 'AuthFailed') return { line: `${name}: ${valid.message}`, code: BLOCKED };
  const ready = findCondition(status?.conditions, 'DiscovererReady');
  if (!isInForce || ready?.reason !== 'Running')
    return { line: `${name}: the discoverer with the new credentials starts` };
  return { line: `${name}: the credentials in the Secret ${secret} are in force`, code: DONE };
}

const REFUSED = new Set(['RotationFailed', 'WrongCluster', 'SecretMissing', 'SecretInvalid']);
