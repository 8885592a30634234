// Spans as OTLP/JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding (ids in hexadecimal, 64-bit integers
// as strings, enums as numbers).

import type { FinishedSpan, SpanError } from './recording-tracer.ts';
import type { Attributes, AttributeValue } from './tracer.ts';

const KIND_INTERNAL = 1;
const STATUS_ERROR = 2;

/** The body of one export request. `clean` removes texts that must not leave the process. */
export function otlpPayload(
  spans: readonly FinishedSpan[],
  resource: Attributes,
  clean: (text: string) => string,
): unknown {
  return {
    resourceSpans: [
      {
        resource: { attributes: otlpAttributes(resource, clean) },
        scopeSpans: [{ scope: { name: 'capstan' }, spans: spans.map((span) => otlpSpan(span, clean)) }],
      },
    ],
  };
}

function otlpSpan(span: FinishedSpan, clean: (text: string) => string): unknown {
  const { context, parentSpanId, errors } = span;
  const failure = errors.at(-1);
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: clean(span.name),
    kind: KIND_INTERNAL,
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: otlpAttributes(span.attributes, clean),
    events: errors.map((error) => otlpException(error, clean)),
    status: failure === undefined ? {} : { code: STATUS_ERROR, message: clean(failure.message) },
  };
}

function otlpException({ at, type, message, stack }: SpanError, clean: (text: string) => string): unknown {
  const attributes = {
    'exception.type': type,
    'exception.message': message,
    ...(stack === undefined ? {} : { 'exception.stacktrace': stack }),
  };
  return { name: 'exception', timeUnixNano: nanoseconds(at), attributes: otlpAttributes(attributes, clean) };
}

function otlpAttributes(attributes: Attributes, clean: (text: string) => string): unknown[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value, clean) }));
}

function otlpValue(value: AttributeValue, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return { stringValue: clean(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number') return { arrayValue: { values: value.map((item) => otlpValue(item, clean)) } };
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  // Infinity and NaN are strings in this encoding of protobuf.
  return { doubleValue: Number.isFinite(value) ? value : String(value) };
}

/** A number of milliseconds holds microseconds exactly. */
function nanoseconds(ms: number): string {
  return (BigInt(Math.round(ms * 1000)) * 1000n).toString();
}
