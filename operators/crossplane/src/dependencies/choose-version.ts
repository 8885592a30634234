// Which version of a dependency to install. Pure.
import { isDigest } from '../oci/reference.ts';
import { compareVersions, parseConstraint, parseVersion, satisfies } from '../xpkg/semver.ts';

export interface Requirement {
  /** Who asks. */
  readonly by: string;
  readonly constraints: string;
}

export type Choice = { readonly version: string } | { readonly problem: string };

/** The digest that a user asks for, if anybody does: no tags are needed then. */
export function pinnedVersion(requirements: readonly Requirement[]): Choice | undefined {
  const pinned = new Set(requirements.map(({ constraints }) => constraints).filter(isDigest));
  if (pinned.size === 0) return undefined;
  const [version = ''] = pinned;
  if (pinned.size === 1 && requirements.every(({ constraints }) => constraints === version)) return { version };
  return { problem: `no version serves all: ${listed(requirements)}` };
}

/** The highest tag that serves everybody; with `atLeast` the lowest that is no older than that. */
export function chooseVersion(tags: readonly string[], requirements: readonly Requirement[], atLeast?: string): Choice {
  const constraints = requirements.map(({ constraints: text }) => parseConstraint(text));
  const floor = atLeast === undefined ? undefined : parseVersion(atLeast);
  const fitting = tags
    .flatMap((tag) => parseVersion(tag) ?? [])
    .filter((version) => constraints.every((constraint) => constraint !== undefined && satisfies(version, constraint)))
    .toSorted(compareVersions);
  const later = floor === undefined ? fitting : fitting.filter((version) => compareVersions(version, floor) >= 0);
  const chosen = floor === undefined ? fitting.at(-1) : later.at(0);
  if (chosen !== undefined) return { version: chosen.original };
  return {
    problem: `of ${tags.length} tags none serves ${requirements.length > 1 ? 'all: ' : ''}${listed(requirements)}${floor === undefined ? '' : `, and is no older than ${atLeast}`}`,
  };
}

function listed(requirements: readonly Requirement[]): string {
  return requirements.map(({ by, constraints }) => `${constraints} (${by})`).join(', ');
}
