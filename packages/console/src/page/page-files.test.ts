import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildPage } from './build-page.ts';
import { fileHeaders, INDEX, loadPage } from './page-files.ts';

/** A client of a few lines, so that the test does not depend on the pages. */
async function withClient(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-page-'));
  try {
    await mkdir(join(folder, 'styles'));
    await writeFile(
      join(folder, 'main.tsx'),
      "void import('./later.ts').then(({ text }) => { document.title = text; });\n",
    );
    await writeFile(join(folder, 'later.ts'), "export const text: string = 'later';\n");
    await writeFile(join(folder, 'styles/index.css'), 'body { margin: 0 }\n');
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the files of the page', () => {
  test('a build has a document that names its script and its style by their hashes', () =>
    withClient(async (client) => {
      const { files } = await buildPage(client);
      const document = Buffer.from(files.find(({ path }) => path === INDEX)?.bytes ?? []).toString();
      const [, script] = /<script type="module" src="([^"]+)"/.exec(document) ?? [];
      const [, style] = /<link rel="stylesheet" href="([^"]+)"/.exec(document) ?? [];
      assert.match(script ?? '', /^\/assets\/main\.\w{8}\.js$/);
      assert.match(style ?? '', /^\/assets\/style\.\w{8}\.css$/);
      const paths = files.map(({ path }) => path);
      assert.ok(paths.includes(script ?? '') && paths.includes(style ?? ''));
      assert.ok(
        paths.some((path) => /^\/assets\/chunk\.\w{8}\.js$/.test(path)) || paths.length >= 4,
        'a lazy part is a file',
      );
      assert.doesNotMatch(document, /<script(?![^>]*src=)/, 'a script of the document is inline');
    }));

  test('an installed package serves its folder without a build', () =>
    withClient(async (folder) => {
      const files = await loadPage(folder);
      assert.deepEqual([...files.keys()].toSorted(), ['/later.ts', '/main.tsx', '/styles/index.css']);
    }));

  test('only files with a hash are kept by browsers', () => {
    const bytes = new Uint8Array(3);
    const asset = fileHeaders({ path: '/assets/main.ABCDEFGH.js', bytes });
    assert.equal(asset['content-type'], 'text/javascript; charset=utf-8');
    assert.match(asset['cache-control'] ?? '', /immutable/);
    assert.equal(fileHeaders({ path: INDEX, bytes })['cache-control'], 'no-cache');
  });
});
