// Translates projections and selections of authors to those of the engine.
import { compileLabelSelector, type KubeObject, parseLabelSelector } from '@capstan/kube/cluster';
import type { Projection as EngineProjection, Where as EngineWhere } from '../engine/index.ts';
import { type ReadSources } from './read-sources.ts';
import type { Projection, Where } from './reader.ts';
import { isMarked, marked } from './sensitive.ts';

export function unmarked(value: unknown): unknown {
  return isMarked(value) ? value.$value : value;
}

/** A projection of a row's content; one per projection, so that edges stay cheap. */
export function ofRow<P>(
  { projections }: ReadSources,
  project: (row: never) => P,
): EngineProjection<{ row: unknown }, P> {
  let wrapper = projections.get(project);
  if (wrapper === undefined) {
    wrapper = (found) => project((found as { row: never }).row);
    projections.set(project, wrapper);
  }
  return wrapper as EngineProjection<{ row: unknown }, P>;
}

/** A projection that sees the derivation's value and keeps the marks around its result; one per projection, so that edges stay cheap. */
export function throughMarks<R, P>({ projections }: ReadSources, project: Projection<R, P>): EngineProjection {
  let wrapper = projections.get(project);
  if (wrapper === undefined) {
    wrapper = (value) =>
      isMarked(value) ? marked(project(value.$value as R), new Set(value.$sensitive)) : project(value as R);
    projections.set(project, wrapper);
  }
  return wrapper;
}

export function toEngine(where: Where): EngineWhere<KubeObject> {
  return {
    ...(where.namespace === undefined ? {} : { namespace: where.namespace }),
    ...(where.labels === undefined ? {} : { selector: selectorOf(where.labels) }),
    ...(where.where === undefined ? {} : { where: where.where }),
  };
}

function selectorOf(labels: NonNullable<Where['labels']>) {
  return typeof labels === 'string' ? parseLabelSelector(labels) : compileLabelSelector(labels);
}
