import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { page } from './page.ts';

const PATH = join(import.meta.dirname, '../../../../docs/sesame-and-contour.md');

test('the page about Sesame and Contour has every difference and every feature', () => {
  if (process.env['UPDATE_FIXTURES'] === '1') writeFileSync(PATH, page());
  assert.equal(readFileSync(PATH, 'utf8'), page());
});
