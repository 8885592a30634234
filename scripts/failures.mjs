// A reporter that prints a failing test when it fails, with its error: the summary at the end comes minutes later.
import { inspect } from 'node:util';

export default async function* failures(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:fail' || data.details?.error?.failureType === 'subtestsFailed') continue;
    const { error } = data.details ?? {};
    yield `\nfailed: ${data.name} (${data.file ?? ''}:${data.line ?? 0})\n${inspect(error?.cause ?? error, { depth: 3 }).slice(0, 4000)}\n\n`;
  }
}
