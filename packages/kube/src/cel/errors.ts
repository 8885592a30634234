/** An expression that could not be evaluated; the message is what CEL calls the error: `no such key: x`, `division by zero`. */
export class CelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelError';
  }
}

/** The expression cost more than it may: whatever stands around it cannot make up for that. */
export class CelCostError extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
    this.name = 'CelCostError';
  }
}

export const noSuchOverload = (): CelError => new CelError('no such overload');
export const noSuchKey = (key: string): CelError => new CelError(`no such key: ${key}`);
