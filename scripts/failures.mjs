// A reporter that prints a failing test when it fails, with its error: the summary at the end comes minutes later. The files
// that fail are also listed in the file that CAPSTAN_FAILED_FILES names, one a line.
import { appendFileSync } from 'node:fs';
import { inspect } from 'node:util';

export default async function* failures(source) {
  const files = new Set();
  for await (const { type, data } of source) {
    if (type !== 'test:fail' || data.details?.error?.failureType === 'subtestsFailed') continue;
    // A file that fails as a whole is a test whose name is its path.
    const file = data.file ?? data.name;
    if (!files.has(file)) appendFileSync(process.env.CAPSTAN_FAILED_FILES ?? '/dev/null', `${file}\n`);
    files.add(file);
    const { error } = data.details ?? {};
    yield `\nfailed: ${data.name} (${file}:${data.line ?? 0})\n${inspect(error?.cause ?? error, { depth: 3 }).slice(0, 4000)}\n\n`;
  }
}
