// Writes docs/limits.md: the limits of everything that reads bytes from outside, with their values in the code.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limitsPage } from './limits/limits-page.ts';

const root = dirname(import.meta.dirname);
writeFileSync(
  join(root, 'docs/limits.md'),
  limitsPage((path) => readFileSync(join(root, path), 'utf8')),
);
console.log('docs/limits.md is written');
