// A pull of 200 MB must not cost the memory of 200 MB. The registry runs in a process of its own, so that only the client is measured.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { createRegistryClient } from '../oci/client.ts';
import { parseReference } from '../oci/reference.ts';
import { createPackageFetcher } from './fetch.ts';

const LAYER_BYTES = 200 * 1024 * 1024;

test('pulling an image of 200 MB takes less than 100 MB more, with every layer searched for the package', async (t) => {
  const child = spawn(
    process.execPath,
    [new URL('memory.test-support.ts', import.meta.url).pathname, String(LAYER_BYTES)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill());
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`the registry ended with ${code}`)));
  });
  const { address, digests } = JSON.parse(line) as { address: string; digests: Record<string, string> };
  const client = createRegistryClient();
  t.after(() => client.close());
  const fetcher = createPackageFetcher({ client });
  // Once with a small one, so that code and connections are there before it is measured.
  await fetcher.fetch(parseReference(`${address}/small`), digests['small'] ?? '');
  const before = process.memoryUsage.rss();
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  t.after(() => clearInterval(watching));
  const { meta } = await fetcher.fetch(parseReference(`${address}/large`), digests['large'] ?? '');
  most = Math.max(most, process.memoryUsage.rss());
  assert.equal(meta.name, 'p');
  const more = Math.round((most - before) / 1024 / 1024);
  t.diagnostic(`${more} MB more`);
  assert.ok(more < 100, `${more} MB more`);
});
