// Ids and their form between processes: https://www.w3.org/TR/trace-context/

import type { Random } from '@capstan/kube/cluster';
import type { SpanContext } from './tracer.ts';

export function createTraceId(random: Random): string {
  return hex(random, 4);
}

export function createSpanId(random: Random): string {
  return hex(random, 2);
}

/** The value of the `traceparent` header. */
export function formatTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Undefined for an invalid `traceparent`: the receiver then begins a trace of its own. */
export function parseTraceparent(header: string): SpanContext | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header.trim());
  const [, version, traceId = '', spanId = '', flags = '', rest] = match ?? [];
  if (match === null || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** All zeros means "no id" and must never be one. */
function hex(random: Random, words: number): string {
  for (;;) {
    const id = Array.from({ length: words }, () =>
      Math.floor(random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('');
    if (!isZero(id)) return id;
  }
}

function isZero(id: string): boolean {
  return /^0*$/.test(id);
}
