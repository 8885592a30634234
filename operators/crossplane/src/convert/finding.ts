// The findings of a conversion: fields that cannot be carried over, ambiguous fields, and small differences.

/** A part of a rendered object that differs from it was before the conversion. */
export interface RenderedChange {
  /** `Provider/provider-example`. */
  readonly package: string;
  readonly object: 'Deployment' | 'Service' | 'ServiceAccount';
  /** Everything at or below this path may differ. */
  readonly path: string;
}

export interface ConversionFinding {
  /** A note reports an action; a warning needs a review, and is a failure with --strict. */
  readonly level: 'note' | 'warning';
  /** `config.yaml:12`. */
  readonly place: string;
  /** `ControllerConfig debug`. */
  readonly subject: string;
  /** A sentence without a full stop. */
  readonly message: string;
  readonly changes: readonly RenderedChange[];
}

/** One line for a person. */
export function findingLine({ level, place, subject, message }: ConversionFinding): string {
  return `${level}: ${place}: ${subject}: ${message}`;
}
