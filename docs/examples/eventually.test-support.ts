// Real I/O (a socket, a file, a process) is outside the virtual clock: `settle()` does not wait for it.
import assert from 'node:assert/strict';
import type { Stage } from '@capstan/testing';

/** Lets real I/O and the program go on until the check holds. Virtual time moves only as far as the program asks for. */
export async function eventually(
  stage: Pick<Stage, 'settle'>,
  check: () => Promise<boolean>,
  what: string,
): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await check())) {
    assert.ok(performance.now() < deadline, `it did not happen within 10 s: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
    await stage.settle();
  }
}
