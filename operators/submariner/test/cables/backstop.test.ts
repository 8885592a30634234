// No packet of an encrypted pair leaves in clear, whatever happens to its cable. The underlay is captured while packets of both
// families are sent all the time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countWithoutBackstop, ENCRYPTED_DRIVERS, injectFaults } from './faults.ts';
import { skip } from './underlay.ts';

test('the capture sees packets in clear where nothing holds them back', { skip }, async () => {
  assert.ok((await countWithoutBackstop()) > 50);
});

for (const driver of ENCRYPTED_DRIVERS)
  test(`no packet leaves in clear while a cable of ${driver} suffers all that can happen to it`, { skip }, async () => {
    const reports = await injectFaults(driver);
    assert.equal(reports.length, 16);
    for (const { event, clear, sent } of reports) {
      assert.ok(sent > 20, `${event}: only ${sent} packets were sent`);
      assert.equal(clear, 0, `${event}: ${clear} packets in clear`);
    }
  });
