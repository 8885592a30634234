export type RegexpErrorReason =
  | 'expression nests too deeply'
  | 'expression too large'
  | 'invalid character class range'
  | 'invalid escape sequence'
  | 'invalid named capture'
  | 'invalid nested repetition operator'
  | 'invalid or unsupported Perl syntax'
  | 'invalid repeat count'
  | 'missing argument to repetition operator'
  | 'missing closing )'
  | 'missing closing ]'
  | 'trailing backslash at end of expression'
  | 'unexpected )';

/** A pattern that does not compile; the message has Go's words, which users of Kubernetes know. */
export class RegexpError extends Error {
  readonly reason: RegexpErrorReason;

  constructor(reason: RegexpErrorReason, part: string) {
    super(`error parsing regexp: ${reason}: \`${part}\``);
    this.name = 'RegexpError';
    this.reason = reason;
  }
}
