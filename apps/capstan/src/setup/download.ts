// Downloads a file whose checksum is known beforehand.
import { createHash } from 'node:crypto';
import type { Report } from './peer.ts';

export interface DownloadOptions {
  readonly url: string;
  readonly sha256: string;
  /** For lines of progress. */
  readonly name: string;
  readonly report: Report;
  readonly signal?: AbortSignal;
}

const PROGRESS_MS = 1500;
/** A server that sends nothing for so long is taken for dead. */
const SILENCE_MS = 20_000;

/** Resolves with the bytes. Throws where they cannot be had, or have another checksum. */
export async function download({ url, sha256, name, report, signal }: DownloadOptions): Promise<Buffer> {
  const silent = new AbortController();
  const watch = () => setTimeout(() => silent.abort(new Error('the server sends nothing')), SILENCE_MS);
  let timer = watch();
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]) });
    if (!answer.ok || answer.body === null)
      throw new Error(`the server answered ${answer.status} ${answer.statusText}`.trim());
    const total = Number(answer.headers.get('content-length') ?? 0);
    const [chunks, hash] = [[] as Uint8Array[], createHash('sha256')];
    let [bytes, shownAt] = [0, performance.now()];
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      timer = watch();
      chunks.push(chunk);
      hash.update(chunk);
      bytes += chunk.length;
      if (performance.now() - shownAt < PROGRESS_MS) continue;
      shownAt = performance.now();
      report(`${name}: ${megabytes(bytes)}${total > 0 ? ` of ${megabytes(total)}` : ''} MB`);
    }
    const found = hash.digest('hex');
    if (found !== sha256) throw new Error(`its checksum is ${found}, and ${sha256} is expected; nothing of it is used`);
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
