/** Spans of work, for OpenTelemetry; costs next to nothing until an exporter is configured. */
export interface Tracer {
  /** Begins a span; without a parent it begins a trace. */
  startSpan(name: string, attributes?: Attributes, parent?: SpanContext): Span;
}

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface Span {
  readonly context: SpanContext;
  setAttributes(attributes: Attributes): void;
  /** The span failed, and why. */
  recordError(error: unknown): void;
  /** Ends the span; later calls have no effect. */
  end(): void;
}

/** The facts about a parent that a child, here or in another process, needs. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const noopSpan: Span = {
  context: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), isSampled: false },
  setAttributes() {},
  recordError() {},
  end() {},
};

export const noopTracer: Tracer = { startSpan: () => noopSpan };
