// The rules of a policy that are in force. They must be the same on every member, so they follow from the broker's content, and
// never from a copy that one member has edited. The broker's object and each member's copy carry the last valid spec that
// was on the broker, with the options of its ConfigMaps written out, in one annotation. A member uses that text alone: an edit counts once the broker
// has it, an invalid edit changes nothing, and a member that joins later reads the same text.
import type { Condition, ObjectMeta } from '@capstan/kube';
import { LAST_DEFAULT_ANNOTATION } from '../kinds/index.ts';
import { type Policy, readPolicy } from '../policy/read-policy.ts';
import { BASE_UID, canonical } from './content.ts';

/** The last valid spec of the broker's object, as JSON with sorted keys. */
export const IN_FORCE = 'submariner.io/sync-in-force';

export interface PolicyObject {
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: { readonly effective?: readonly EffectiveRule[] | undefined } | undefined;
}

/** A rule as the status shows it. */
interface EffectiveRule {
  readonly cableDriver: { readonly name: string; readonly options?: Readonly<Record<string, string>> | undefined };
}

/**
 * The policy as it counts. On a member its rules are those that the broker has accepted. On the broker, and in a cluster without
 * one, they are those of its spec, and while that is invalid those that were valid last.
 */
export function policyInForce(object: PolicyObject, { isMember }: { readonly isMember: boolean }): Policy {
  const policy = readPolicy(object);
  if (!isMember && policy.problems.length === 0) return policy;
  // A copy that was never synced is not in force, whatever its status shows.
  const isSynced = object.metadata.annotations?.[BASE_UID] !== undefined;
  const spec = isMember && !isSynced ? undefined : lastValidSpec(object);
  const rules = spec === undefined ? [] : readPolicy({ metadata: object.metadata, spec }).rules;
  return { ...policy, rules };
}

/** The spec that the annotation records. A copy of an earlier version has none; its status shows the rules that were accepted. */
export function lastValidSpec({ metadata, status }: PolicyObject): unknown {
  const text = metadata.annotations?.[IN_FORCE];
  if (text !== undefined) return parsed(text);
  const { effective = [] } = status ?? {};
  if (effective.length === 0) return undefined;
  return effective.map(({ cableDriver: { name, options = {} }, ...rule }) => ({
    ...rule,
    cableDriver: { name, options: { data: options } },
  }));
}

/** The text that records a valid spec; undefined for one that is not valid. */
export function inForceText(object: PolicyObject | undefined): string | undefined {
  return object !== undefined && readPolicy(object).problems.length === 0 ? canonical(object.spec) : undefined;
}

/** The text that is recorded on an object already. */
export function recordedText(object: PolicyObject | undefined): string | undefined {
  if (object === undefined) return undefined;
  const spec = lastValidSpec(object);
  return spec === undefined ? undefined : canonical(spec);
}

/** The spec of the default policy as it last was valid, from the Broker or from a member's copy of it. */
export function lastDefaultOf({
  metadata,
  status,
}: {
  readonly metadata: ObjectMeta;
  readonly status?: { readonly defaultPolicy?: unknown } | undefined;
}): unknown {
  const text = metadata.annotations?.[LAST_DEFAULT_ANNOTATION];
  return status?.defaultPolicy ?? (text === undefined ? undefined : parsed(text));
}

/** Whether another policy is in force in its place: its name is taken, or the broker takes none of members. */
export function isSuperseded(
  object: { readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined } | undefined,
): boolean {
  return (object?.status?.conditions ?? []).some(
    ({ type, reason }) => type === 'Synced' && (reason === 'NameConflict' || reason === 'MemberPoliciesNotAllowed'),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
