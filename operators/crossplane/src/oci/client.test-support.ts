import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createRegistryClient, type RegistryClient } from './client.ts';
import { digestOf } from './digest.ts';
import { RegistryError } from './errors.ts';
import { type Keychain } from './keychain.ts';
import type { TransportOptions } from './transport.ts';

export const ends: (() => Promise<unknown>)[] = [];

after(() => Promise.all(ends.map((end) => end())));

export function clientWith(options: TransportOptions = {}): RegistryClient {
  const client = createRegistryClient({ retries: 0, ...options });
  ends.push(() => client.close());
  return client;
}

export const user: Keychain = () => ({ type: 'basic', username: 'me', password: 'open sesame' });

export async function bytes(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

export const content = Buffer.from('some content');

export const blob = { digest: digestOf(content), size: content.length };

export const fails = (failure: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof RegistryError, String(error));
  assert.equal(error.failure, failure, error.message);
  if (message !== undefined) assert.match(error.message, message);
  assert.doesNotMatch(error.message, /sesame/);
  return true;
};
