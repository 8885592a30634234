import assert from 'node:assert/strict';

/** Waits until a condition holds, and returns how long it took; the error contains the details. */
export async function until(
  what: string,
  ms: number,
  holds: () => Promise<boolean>,
  detail: () => unknown = () => '',
): Promise<number> {
  const begin = performance.now();
  while (!(await holds())) {
    if (performance.now() - begin > ms)
      assert.fail(`${what}: not within ${ms} ms\n${JSON.stringify(await detail(), undefined, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return performance.now() - begin;
}
