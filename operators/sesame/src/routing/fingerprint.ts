import type { Resource } from '../xds/index.ts';

/** A text that is the same for the same translation: resources count by their versions. */
export function fingerprint(value: unknown): string {
  return (
    JSON.stringify(value, (_name, part: unknown) =>
      isResource(part)
        ? [part.type, part.name, part.version('whole')]
        : part instanceof Map
          ? [...(part as Map<unknown, unknown>)]
          : part,
    ) ?? ''
  );
}

function isResource(value: unknown): value is Resource {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Resource>).version === 'function';
}
