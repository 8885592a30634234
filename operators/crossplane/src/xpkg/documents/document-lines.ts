// Documents as the cache keeps them: one line of JSON each. They were parsed and checked when they came; reading them
// again takes a hundredth of the time that their YAML took.
import { setImmediate } from 'node:timers/promises';
import type { YamlDocument } from './yaml-stream.ts';

/** After so many bytes other work may run. */
const TURN_BYTES = 1024 * 1024;

export async function* toLines(documents: AsyncIterable<YamlDocument>): AsyncGenerator<Buffer> {
  for await (const document of documents) yield Buffer.from(`${JSON.stringify(document)}\n`);
}

/** Reads the output of toLines. */
export async function fromLines(chunks: AsyncIterable<Buffer>): Promise<YamlDocument[]> {
  const documents: YamlDocument[] = [];
  let parts: Buffer[] = [];
  let turn = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      parts.push(chunk.subarray(from, end));
      documents.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as YamlDocument);
      parts = [];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    turn += chunk.length;
    if (turn > TURN_BYTES) {
      turn = 0;
      await setImmediate();
    }
  }
  return documents;
}
