/** A problem in a file, at its place. Lines and columns count from 1. */
export interface FileProblem {
  readonly severity: 'error' | 'warning';
  readonly line: number;
  readonly column: number;
  /** The path of the key, `timeouts.request-timeout`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
}

/** `sesame.yaml:3:1: error: timeouts.request-timeout: …`. */
export function fileProblemText(file: string, { severity, line, column, key, message }: FileProblem): string {
  const subject = key === '' ? '' : `${key}: `;
  return `${file}:${line}:${column}: ${severity}: ${subject}${message}`;
}
