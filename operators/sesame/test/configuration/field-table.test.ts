import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { fieldTable } from './field-table.ts';

test('the documentation has the table of all fields', () => {
  const text = readFileSync(resolve(import.meta.dirname, '../../../../docs/sesame-configuration.md'), 'utf8');
  assert.ok(
    text.includes(fieldTable()),
    'print it with node operators/sesame/test/configuration/field-table.ts, and replace it',
  );
});
