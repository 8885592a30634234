import type { Registry } from './registry.ts';

export interface AuthorMetrics {
  /** A function that an operator's author gave has failed. */
  authorError(what: string): void;
}

/** Errors of the functions that operators are written with. */
export function authorMetrics(registry: Registry): AuthorMetrics {
  const errors = registry.counter({
    name: 'capstan_author_errors_total',
    help: 'Errors of functions that an operator is written with (indexes, projections, folds, facts, sinks), by function.',
    labels: ['function'],
  });
  return { authorError: (what) => errors.of({ function: what }).inc() };
}
