// Parses large bodies in a thread of its own: two megabytes of YAML take a second.
import { parentPort } from 'node:worker_threads';
import { readText, type TextForm } from './body-text.ts';
import { TextRefusal } from './json-text.ts';

export interface ParseRequest {
  readonly text: string;
  readonly form: TextForm;
}

/** The value as JSON, which crosses the threads faster than the value would. */
export type ParseReply =
  | { readonly json: string; readonly duplicates: readonly string[] }
  | { readonly problem: string }
  | { readonly refusal: TextRefusal['reason'] };

function replyTo({ text, form }: ParseRequest): ParseReply {
  try {
    const { value, duplicates, problem } = readText(text, form);
    return problem === undefined ? { json: JSON.stringify(value), duplicates } : { problem };
  } catch (error) {
    if (error instanceof TextRefusal) return { refusal: error.reason };
    throw error;
  }
}

parentPort?.on('message', (request: ParseRequest) => parentPort?.postMessage(replyTo(request), []));
