import type { Clock, Random } from '@capstan/kube/cluster';
import type { Sampler } from './sampler.ts';
import { createSpanId, createTraceId } from './trace-context.ts';
import type { Attributes, Span, SpanContext, Tracer } from './tracer.ts';

/** A span that has ended. */
export interface FinishedSpan {
  name: string;
  context: SpanContext;
  parentSpanId: string | undefined;
  startedAt: number;
  endedAt: number;
  attributes: Attributes;
  errors: readonly SpanError[];
}

export interface SpanError {
  at: number;
  type: string;
  message: string;
  stack: string | undefined;
}

export interface RecordingTracerOptions {
  clock: Clock;
  random: Random;
  sampler: Sampler;
  /** Takes each sampled span when it ends. Must not wait. */
  finish(span: FinishedSpan): void;
}

/** A tracer that keeps the spans which its sampler chooses. */
export function createRecordingTracer({ clock, random, sampler, finish }: RecordingTracerOptions): Tracer {
  return {
    startSpan(name, initial = {}, parent) {
      // A context from noopTracer is not a parent.
      const parentContext = parent === undefined || /^0*$/.test(parent.traceId) ? undefined : parent;
      const traceId = parentContext?.traceId ?? createTraceId(random);
      const isSampled = sampler(traceId, parentContext);
      const context: SpanContext = { traceId, spanId: createSpanId(random), isSampled };
      if (!isSampled) return { context, setAttributes() {}, recordError() {}, end() {} };

      const startedAt = clock.now();
      const errors: SpanError[] = [];
      let attributes = initial;
      let hasEnded = false;
      const span: Span = {
        context,
        setAttributes(more) {
          attributes = { ...attributes, ...more };
        },
        recordError(error) {
          if (!hasEnded) errors.push(spanError(error, clock.now()));
        },
        end() {
          if (hasEnded) return;
          hasEnded = true;
          const parentSpanId = parentContext?.spanId;
          finish({ name, context, parentSpanId, startedAt, endedAt: clock.now(), attributes, errors });
        },
      };
      return span;
    },
  };
}

function spanError(error: unknown, at: number): SpanError {
  if (!(error instanceof Error)) return { at, type: typeof error, message: String(error), stack: undefined };
  return { at, type: error.name, message: error.message, stack: error.stack };
}
