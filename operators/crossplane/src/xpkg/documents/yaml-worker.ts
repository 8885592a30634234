// Parses documents in a thread of its own: a CRD of a hundred kilobytes takes a tenth of a second, and a provider has
// hundreds of them.
import { parentPort } from 'node:worker_threads';
import { valueOfYaml } from './yaml-text.ts';

export interface ParseRequest {
  readonly id: number;
  readonly text: string;
}

/** The value as JSON, which crosses the threads faster than the value would. */
export type ParseReply = { readonly id: number } & ({ readonly json: string } | { readonly problem: string });

parentPort?.on('message', ({ id, text }: ParseRequest) => {
  const parsed = valueOfYaml(text);
  const reply: ParseReply =
    'problem' in parsed ? { id, ...parsed } : { id, json: JSON.stringify(parsed.value ?? null) };
  parentPort?.postMessage(reply, []);
});
