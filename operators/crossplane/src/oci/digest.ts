import { createHash } from 'node:crypto';
import { RegistryErrors } from './errors.ts';

/** The digest of bytes, as registries write it. */
export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/**
 * Passes bytes through, and counts and hashes them. Throws at the first byte too many, and at the end if the digest differs from the
 * requested one. A caller that uses the bytes must wait for the end.
 */
export async function* verified(
  chunks: AsyncIterable<Uint8Array>,
  expected: { readonly digest: string; readonly size?: number },
  what: string,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (expected.size !== undefined && size > expected.size)
      throw RegistryErrors.WrongSize(what, expected.size, `more than ${expected.size}`);
    hash.update(chunk);
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  if (expected.size !== undefined && size !== expected.size)
    throw RegistryErrors.WrongSize(what, expected.size, String(size));
  const digest = `sha256:${hash.digest('hex')}`;
  if (digest !== expected.digest) throw RegistryErrors.WrongDigest(what, expected.digest, digest);
}
