import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { allCommands, commandsSection, MARK } from './commands-section.ts';

const page = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');

describe('docs/cli.md', () => {
  test('ends with the commands and flags of all programs; npm run generate:commands writes them', async () => {
    assert.equal(page.slice(page.indexOf(MARK)), await commandsSection());
  });

  test('names every command and every flag of every program', async () => {
    const commands = await allCommands();
    const programs = new Set(commands.map(({ program }) => program));
    assert.deepEqual([...programs].toSorted(), [
      'capstan',
      'crossplane',
      'gimbal',
      'kroxylicious',
      'sesame',
      'subctl',
      'submariner',
    ]);
    const flags = commands.flatMap(({ flags: own }) => Object.keys(own).map((name) => `--${name}`));
    const missing = [...commands.map(({ usage }) => `**\`${usage.replaceAll(/\s+/g, ' ')}\`**`), ...flags].filter(
      (text) => !page.includes(text),
    );
    assert.deepEqual(missing, []);
  });

  test('names every command of capstan in its first table', async () => {
    const own = page.slice(0, page.indexOf('## Exit codes'));
    const missing = (await allCommands())
      .filter(({ program }) => program === 'capstan')
      .filter(({ name }) => !own.includes(`capstan ${name}`) && !own.includes(`, \`${name}\``));
    assert.deepEqual(missing, []);
  });
});
