/** An error of an evaluation, with CEL's message: `no such key: x`, `division by zero`. */
export class CelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelError';
  }
}

/** The evaluation exceeded its cost limit. Unlike a CelError, no surrounding expression can absorb it. */
export class CelCostError extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
    this.name = 'CelCostError';
  }
}

export const noSuchOverload = (): CelError => new CelError('no such overload');
export const noSuchKey = (key: string): CelError => new CelError(`no such key: ${key}`);
