// The table of fields in docs/sesame-patches.md is that of the program.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { messageTable } from '../../src/envoy/index.ts';
import { ADDED_FILTERS, OPEN_FIELDS, SEALED } from '../../src/routing/patch/open-fields.ts';

const PATH = resolve(import.meta.dirname, '../../../../docs/sesame-patches.md');
const HEADER = '| message of Envoy | fields |\n|---|---|\n';

function table(): string {
  return Object.entries(OPEN_FIELDS)
    .map(([message, fields]) => {
      const own = Object.entries(fields).map(([name, kind]) =>
        kind === 'any' ? `\`${name}\`` : `\`${name}\` (below)`,
      );
      return `| \`${message}\` | ${own.join(', ')} |\n`;
    })
    .join('');
}

test('the page of patches lists the fields that a patch may change', () => {
  const text = readFileSync(PATH, 'utf8');
  const at = text.indexOf(HEADER) + HEADER.length;
  const next = `${text.slice(0, at)}${table()}\n${text.slice(text.indexOf('In `http_filters`'))}`;
  if (process.env['UPDATE_FIXTURES'] === '1') writeFileSync(PATH, next);
  else assert.equal(text, next, 'UPDATE_FIXTURES=1 writes the table');
  for (const type of ADDED_FILTERS) assert.ok(next.includes(`\`${type}\``), type);
});

test('every open and every sealed name is one of Envoy’s', () => {
  for (const [message, fields] of Object.entries(OPEN_FIELDS))
    for (const name of Object.keys(fields)) assert.ok(messageTable(message)?.byName.has(name), `${message}.${name}`);
  assert.deepEqual(
    [...SEALED].filter((message) => !messageTable(message)),
    [],
  );
});
