// Which revisions of a package there shall be, their numbers, and which one is active. Pure.
import type { CurrentRevision } from './current-revision.ts';
import type { RevisionView } from './revisions.ts';

export interface HistoryInput {
  /** The oldest first. */
  readonly revisions: readonly RevisionView[];
  /** Undefined while the requested revision is not known: then nothing changes. */
  readonly current: CurrentRevision | undefined;
  readonly policy: 'Automatic' | 'Manual';
  /** Whether the package that is asked for could be had and keeps the rules. */
  readonly isUnpacked: boolean;
  /** Inactive revisions to keep; 0 keeps all. */
  readonly limit: number;
  /** The revision that was active when we looked last. */
  readonly lastActive: string | undefined;
  /** Revisions whose runtime still runs: they stay, whatever the limit. */
  readonly serving: ReadonlySet<string>;
}

export interface WantedRevision {
  readonly name: string;
  readonly revision: number;
  readonly state: 'Active' | 'Inactive';
  /** It shall be active as soon as its package is unpacked. */
  readonly isCandidate: boolean;
  readonly existing: RevisionView | undefined;
}

export interface History {
  readonly wanted: readonly WantedRevision[];
  readonly active: string | undefined;
}

export function historyOf(input: HistoryInput): History {
  const { revisions, current } = input;
  const highest = revisions.at(-1)?.spec.revision ?? 0;
  const found = revisions.find(({ name }) => name === current?.name);
  // One that is asked for again after another one (a rollback) becomes the newest.
  const number = found !== undefined && found.spec.revision === highest ? highest : highest + 1;
  const active = activeOf(input);
  const others = revisions.filter(({ name }) => name !== current?.name);
  const stateOf = (name: string) => (name === active ? 'Active' : 'Inactive');
  const all: WantedRevision[] = others.map((existing) => ({
    name: existing.name,
    revision: existing.spec.revision,
    state: stateOf(existing.name),
    isCandidate: false,
    existing,
  }));
  if (current !== undefined) {
    const isCandidate = input.policy === 'Automatic' && current.name !== active;
    all.push({ name: current.name, revision: number, state: stateOf(current.name), isCandidate, existing: found });
  }
  return { wanted: withoutSurplus(all, input, active), active };
}

/**
 * Manual: the user decides; a user who activates a second revision means the new one. Automatic: the requested revision, but while another
 * is in force, only once the requested one is known to be able to replace it.
 */
function activeOf({ revisions, current, policy, isUnpacked, lastActive }: HistoryInput): string | undefined {
  const active = revisions.filter(({ spec }) => spec.desiredState === 'Active').map(({ name }) => name);
  if (policy === 'Automatic') {
    const isFree = active.length === 0 || isUnpacked || active.includes(current?.name ?? '');
    return isFree ? (current?.name ?? active.at(-1)) : (active.find((name) => name === lastActive) ?? active.at(-1));
  }
  const newly = active.filter((name) => name !== lastActive);
  return newly.at(-1) ?? active.at(-1);
}

function withoutSurplus(
  all: readonly WantedRevision[],
  { limit, current, serving }: HistoryInput,
  active: string | undefined,
): readonly WantedRevision[] {
  // While the requested revision is not known, no revision is removed.
  if (limit === 0 || current === undefined) return all;
  let surplus = all.length - (limit + 1);
  return all
    .toSorted((left, right) => left.revision - right.revision)
    .filter(({ name }) => {
      const isNeeded = name === current.name || name === active || serving.has(name);
      if (surplus <= 0 || isNeeded) return true;
      surplus--;
      return false;
    });
}
