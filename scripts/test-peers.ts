// Finds the tests that a real peer enables: those that, in their own file or in imports from test folders, name it in the line that shows
// how to get it (`npm run setup:real -- NAME`), or start a real control plane.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The files among `files` (paths below `root`) that need the peer. */
export function filesWith(peer: string, files: readonly string[], root: string): string[] {
  const isMarked = markOf(peer);
  return files.filter((file) => textsOf(join(root, file)).some((text) => isMarked.test(text)));
}

function markOf(peer: string): RegExp {
  const mark = `setup:real -- ${peer}\\b(?!-)`;
  return new RegExp(peer === 'kubernetes' ? `${mark}|\\b(?:findBinaries|startRealCluster)\\b` : mark);
}

/** The file's text and those of its helpers: its relative imports, without the product's own sources. */
function textsOf(path: string, seen: Map<string, string> = new Map()): string[] {
  if (!seen.has(path)) {
    const text = readFileSync(path, 'utf8');
    seen.set(path, text);
    for (const [, imported = ''] of text.matchAll(/^(?:import|export)\b[^;]*? from '(\.\.?\/[^']+\.ts)';$/gm)) {
      const target = join(dirname(path), imported);
      if (isHelper(target)) textsOf(target, seen);
    }
  }
  return [...seen.values()];
}

const isHelper = (path: string) => /\/test\/|\.test-support\.ts$/.test(path);
