import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testIo } from '../cli/test-io.test-support.ts';
import { runGimbal } from './run-gimbal.ts';

test('mistakes in a command are told under the name of the program that has it', async () => {
  const cases: [string, RegExp][] = [
    ['drain', /^error: gimbal drain needs the name of a backend; for example: gimbal drain east\n$/],
    ['drain east west', /^error: gimbal drain does not know what to do with "west"; see gimbal drain --help\n$/],
    ['resume east --wate', /^error: gimbal resume has no flag --wate; did you mean --wait\?\n$/],
    ['rotate east --secret Bad_Name', /^error: --secret cannot be "Bad_Name"; give the name of a Secret: /],
    ['bogus', /^error: there is no command "bogus"; see gimbal --help\n$/],
  ];
  for (const [line, message] of cases) {
    const { io, err } = testIo();
    assert.equal(await runGimbal(line.split(' '), io), 2, line);
    assert.match(err(), message);
  }
});
