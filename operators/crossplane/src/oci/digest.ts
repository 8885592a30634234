import { createHash } from 'node:crypto';
import { RegistryErrors } from './errors.ts';

/** The digest of bytes, as registries write it. */
export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/**
 * The same bytes, counted and hashed on their way; throws at the first byte too many, and at the end when they are not
 * what was asked for. The one that uses what came through must wait for the end.
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
