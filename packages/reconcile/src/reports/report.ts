// Reports: pages about the parts that an operator runs, for the console. A report is a derivation that nothing holds: it is evaluated when
// it is asked for, in a fork, so that it costs nothing before. A running operator does not have its reports, and its rights do not
// cover their reads: a program that shows them adds them to its own runtime, which reads with the rights of its user.
import type { Client, Clock, Kind } from '@capstan/kube/cluster';
import { DefinitionErrors } from '../errors.ts';
import type { Operator } from '../operator.ts';
import { derivation } from '../read/derivation.ts';
import type { Derived } from '../read/reader.ts';
import { type ReadDeclaration, readDeclarations } from '../reconciler.ts';
import { type Sink, sink } from '../sinks/sink.ts';

export interface ReportDefinition<R = unknown> {
  /** The path of its page: `cables`, `ingress/default/edge`. Unique within the program. */
  readonly name: string;
  readonly title: string;
  /**
   * Its body, as JSON, by the rest of the path with the query: `default/my-proxy`, `?host=shop.example.com`; the empty key is the page
   * itself. Undefined: there is no such page.
   */
  readonly of: Derived<R | undefined>;
  /** Every kind that the derivation reads. */
  readonly reads?: readonly (Kind | ReadDeclaration)[];
  /** A report that answers a question and is no page of its own: it is not listed. False by default. */
  readonly isQuestion?: boolean;
  /** The keys that have time steps, from the body of the page itself. */
  stepKeys?(body: R): readonly string[];
  /** The part of a body whose changes are the time steps of its page; by default a page has none. */
  stepOf?(body: R): unknown;
  /** Adds the part of the body that only the outside knows, read with the rights of the user. */
  complete?(body: R, context: ReportContext): Promise<unknown>;
}

export interface ReportContext {
  readonly client: Client;
  /** Clients of other clusters that the program knows: the other logical clusters of `capstan up`. */
  readonly others: readonly Client[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Report<R = unknown> extends ReportDefinition<R> {
  readonly reads: readonly ReadDeclaration[];
}

export function report<R>(definition: ReportDefinition<R>): Report {
  if (!PATH.test(definition.name)) throw DefinitionErrors.BadName('a report', definition.name);
  return { ...(definition as unknown as ReportDefinition), reads: readDeclarations(definition.reads ?? []) };
}

const PATH = /^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9][a-z0-9.-]*)*$/;

/** Returns the operator with a sink for each report, whose set of keys is empty. */
export function withReports(operator: Operator): Operator {
  const { reports = [], sinks = [] } = operator;
  return reports.length === 0 ? operator : { ...operator, sinks: [...sinks, ...reports.map(sinkOf)] };
}

/** The name of the sink: names of sinks are kebab-case. */
export function sinkNameOf(name: string): string {
  return `report-${name.replaceAll(/[/.]/g, '-')}`;
}

const noKeys = derivation<readonly string[]>({ name: 'keys of a report', compute: () => [] });

function sinkOf({ name, of, reads }: Report): Sink {
  return sink<unknown>({
    name: sinkNameOf(name),
    of,
    keys: noKeys,
    reads,
    lease: 'none',
    open: () => ({ take: () => undefined }),
  });
}
