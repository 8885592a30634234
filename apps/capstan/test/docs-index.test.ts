import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { COMMANDS } from '../src/command-table.ts';
import { BUILT_IN_OPERATORS } from '../src/operators.ts';

const DOCS = join(import.meta.dirname, '../../../docs');
const index = readFileSync(join(DOCS, 'README.md'), 'utf8');
const commands = readFileSync(join(DOCS, 'cli.md'), 'utf8');

describe('the documentation', () => {
  test('the index lists every page', () => {
    const pages = readdirSync(DOCS).filter((file) => file.endsWith('.md') && file !== 'README.md');
    const missing = pages.filter((page) => !index.includes(`](${page})`));
    assert.deepEqual(missing, []);
  });

  test('the index and the page of the command line name every command', () => {
    const line = index.split('\n').find((text) => text.includes('(cli.md)')) ?? '';
    const missing = Object.keys(COMMANDS).filter(
      (name) => !line.includes(name) || !new RegExp(`\`(?:capstan )?${name}\\b`).test(commands),
    );
    assert.deepEqual(missing, []);
  });

  test('the page of the command line names every operator', () => {
    const section = commands.slice(commands.indexOf('## Which operators'), commands.indexOf('## capstan run'));
    const missing = BUILT_IN_OPERATORS.filter(({ name }) => !section.includes(`\`${name}\``));
    assert.deepEqual(missing, []);
  });
});
