/** A value that is no message of its type: a bug in the code that built it. */
export class EncodeError extends Error {
  override readonly name = 'EncodeError';
}
