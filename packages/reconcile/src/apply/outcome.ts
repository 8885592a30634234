/** A write that was not made because it would overwrite somebody else's, or because its ground shifted. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
  /** The cache has been brought up to date: planning again is all that is needed. */
  readonly isTransient: boolean;

  constructor(message: string, options: { cause?: unknown; isTransient?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.isTransient = options.isTransient ?? false;
  }
}
