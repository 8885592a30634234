import { accept, type Result, refuse } from '../../result.ts';
import type { FileProblem } from './file-problem.ts';

/** The text of a file in UTF-8; the problem, at its place, when it is in another encoding. */
export function decodeFile(bytes: Uint8Array): Result<string, FileProblem> {
  const wrong = (line: number, column: number, message: string) =>
    refuse({ severity: 'error' as const, line, column, key: '', message });
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return wrong(1, 1, 'the file is in UTF-16; save it as UTF-8');
  try {
    return accept(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    const valid = validPrefix(bytes);
    const before = new TextDecoder().decode(bytes.subarray(0, valid), { stream: true }).split('\n');
    return wrong(before.length, (before.at(-1) ?? '').length + 1, 'the file is not in UTF-8; save it as UTF-8');
  }
}

/** How many bytes can be decoded. */
function validPrefix(bytes: Uint8Array): number {
  let [low, high] = [0, bytes.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    try {
      // A character that is cut in the middle is no error yet.
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      low = middle;
    } catch {
      high = middle - 1;
    }
  }
  return low;
}
