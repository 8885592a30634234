// What a lost digest key leaves in doubt. Under a new key the digests of Secrets cannot be compared with those that are
// remembered, and count as equal. A Secret that was written since then may hold something else: it is found by its
// resourceVersion, which is remembered with each configuration, and pods are rolled once to be sure.
import { Secret } from '@capstan/kube';
import { aside, type Reader, sameDigest } from '@capstan/reconcile';
import type { Mount } from '../resolution/mounts.ts';

/** resourceVersions of the Secrets that a configuration mounts, by name. */
export type SecretVersions = Readonly<Record<string, string>>;

/** Whether two hashes say the same as far as can be known, and were created under different keys. */
export function isOtherKey(before: string | undefined, next: string): boolean {
  return before !== undefined && before !== next && sameDigest(before, next);
}

/** Read only while the configuration changes: a label on a Secret wakes no cluster otherwise. */
export function secretVersions(read: Reader, namespace: string, mounts: readonly Mount[]): SecretVersions {
  const names = [...new Set(mounts.filter(({ source }) => source === 'Secret').map(({ name }) => name))].toSorted();
  return Object.fromEntries(
    names.flatMap((name) => {
      const version = read.get(Secret, { namespace, name }, versionOf);
      return version === undefined ? [] : [[name, version]];
    }),
  );
}

/** Secrets that were written between the two; none when it is not known what was there before. */
export function writtenSince(before: SecretVersions | undefined, now: SecretVersions): string[] {
  if (before === undefined) return [];
  return Object.keys(now).filter((name) => before[name] !== undefined && before[name] !== now[name]);
}

const versionOf = aside(({ metadata }: Secret) => metadata.resourceVersion);
