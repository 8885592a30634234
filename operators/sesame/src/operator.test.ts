import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from './commands/program.ts';
import { PROGRAMS } from './operator.ts';

test('every program of the operator has a command and can be loaded', async () => {
  for (const [name, load] of Object.entries(PROGRAMS)) {
    // `sesame operator` is a command of every operator.
    assert.ok(name === 'operator' || Object.hasOwn(COMMANDS, name), name);
    assert.ok(await load(), name);
  }
});
