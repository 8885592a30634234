// npm run generate:api: the reference of the libraries, in docs/api.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { apiReferences } from './build/api-reference.ts';
import { buildLibraryPackages } from './build/library-packages.ts';

const root = dirname(import.meta.dirname);
const work = mkdtempSync(join(tmpdir(), 'capstan-api-'));
try {
  buildLibraryPackages(root, join(work, 'packages'));
  mkdirSync(join(root, 'docs/api'), { recursive: true });
  for (const [name, text] of apiReferences(root, join(work, 'packages'))) {
    writeFileSync(join(root, 'docs/api', name), text);
    console.log(`docs/api/${name}`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
