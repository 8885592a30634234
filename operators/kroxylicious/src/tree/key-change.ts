// Handles a lost digest key. Digests of Secrets under a new key cannot be compared with remembered ones, and count as equal. But a Secret
// may have been written since then. It is found by its resourceVersion, which is remembered with each configuration, and the pods are
// rolled once to be safe.
import { Secret } from '@capstan/kube';
import { aside, type Reader, sameDigest } from '@capstan/reconcile';
import type { Mount } from '../resolution/mounts.ts';

/** resourceVersions of the Secrets that a configuration mounts, by name. */
export type SecretVersions = Readonly<Record<string, string>>;

/** Returns whether two hashes were created under different keys and are equal as far as can be known. */
export function isOtherKey(before: string | undefined, next: string): boolean {
  return before !== undefined && before !== next && sameDigest(before, next);
}

/**
 * Returns the versions of mounted Secrets. Read only while the configuration changes, so that a new label on a Secret triggers no
 * reconcile.
 */
export function secretVersions(read: Reader, namespace: string, mounts: readonly Mount[]): SecretVersions {
  const names = [...new Set(mounts.filter(({ source }) => source === 'Secret').map(({ name }) => name))].toSorted();
  return Object.fromEntries(
    names.flatMap((name) => {
      const version = read.get(Secret, { namespace, name }, versionOf);
      return version === undefined ? [] : [[name, version]];
    }),
  );
}

/** Returns the Secrets that were written between the two. Returns none if the earlier versions are unknown. */
export function writtenSince(before: SecretVersions | undefined, now: SecretVersions): string[] {
  if (before === undefined) return [];
  return Object.keys(now).filter((name) => before[name] !== undefined && before[name] !== now[name]);
}

const versionOf = aside(({ metadata }: Secret) => metadata.resourceVersion);
