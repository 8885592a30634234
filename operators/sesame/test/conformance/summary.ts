/** Summarises the suite's log: one line for each test, with its failures. */
export function summary(log: string): string {
  const tests = new Map<string, { result: string; seconds: string }>();
  const failed: string[] = [];
  for (const [, result = '', name = '', seconds = ''] of log.matchAll(
    /--- (PASS|FAIL|SKIP): TestConformance\/(\S+) \(([\d.]+)s\)/g,
  )) {
    // A run of a single test skips all others.
    if (!name.includes('/')) {
      if (result !== 'SKIP' || !tests.has(name)) tests.set(name, { result, seconds });
    } else if (result === 'FAIL') failed.push(name);
  }
  const count = (result: string) => [...tests.values()].filter((each) => each.result === result).length;
  return [
    ...[...tests]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, { result, seconds }]) => `${result} ${name} (${seconds} s)`),
    ...failed.map((name) => `failed: ${name}`),
    `${count('PASS')} passed, ${count('FAIL')} failed, ${count('SKIP')} skipped`,
  ].join('\n');
}
