// Credentials by their keyed digest: `v1.<plain>.<key>.<keyed>`.

/** Eight hex digits for names: of the keyed part, which reveals nothing about the credentials. */
export function shortHash(hash: string): string {
  const parts = hash.split('.');
  return (parts[3] ?? parts[1] ?? hash).slice(0, 8);
}

/** The Secret that a discoverer mounts. */
export function copyName(backend: string, hash: string): string {
  return `${backend}-creds-${shortHash(hash)}`;
}
