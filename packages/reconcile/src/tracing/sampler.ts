import type { SpanContext } from './tracer.ts';

/** Whether a span is kept. */
export type Sampler = (traceId: string, parent: SpanContext | undefined) => boolean;

/** The sampler that OTEL_TRACES_SAMPLER names; undefined when there is none of that name. */
export function samplerNamed(name: string, argument: string | undefined): Sampler | undefined {
  const parentBased = /^parentbased_(.+)$/.exec(name)?.[1];
  if (parentBased !== undefined) {
    const root = samplerNamed(parentBased, argument);
    return root && ((traceId, parent) => parent?.isSampled ?? root(traceId, parent));
  }
  switch (name) {
    case 'always_on':
      return () => true;
    case 'always_off':
      return () => false;
    case 'traceidratio': {
      const ratio = ratioOf(argument);
      // By the id, so that all who see a trace keep it or none does.
      return (traceId) => Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < ratio;
    }
    default:
      return undefined;
  }
}

function ratioOf(argument: string | undefined): number {
  const ratio = Number(argument ?? 1);
  return ratio >= 0 && ratio <= 1 ? ratio : 1;
}
