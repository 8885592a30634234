// Functions that read secret data. Where secrets are replaced, a replay cannot run them: their results are recorded, with secret values
// in them replaced too. A reader of such a result that shows one is such a function itself.

import {
  CELL,
  type DerivationState,
  DISPOSED,
  type Graph,
  HAS_ERROR,
  IS_SUSPENDED,
  NODE,
  type Node,
  QUERY,
} from '../engine/graph/model.ts';
import { materialize } from '../engine/graph/query.ts';
import type { RecordedOutcome, RecordedRead } from '../engine/index.ts';
import type { HistoryResult } from './history.ts';
import { type Redactor, secretsOf } from './redact.ts';

export interface SecretResults {
  /** The results that are new, of the nodes that have run, in the order of their runs; before them, which nodes went with the wave before. */
  take(ran: ReadonlySet<Node>): HistoryResult[];
  of(node: Node): HistoryResult | undefined;
  all(): Iterable<readonly [Node, HistoryResult]>;
  forget(node: Node): void;
}

/** A result that is recorded instead of its inputs. */
interface Recorded {
  readonly result: HistoryResult;
  readonly text: string;
  /** Strings that readers must not show; undefined: they may compute with the result. */
  readonly secrets: ReadonlySet<string> | undefined;
}

export function createSecretResults(options: {
  redactor: Redactor;
  derivationId(derivation: DerivationState): number;
  graph(): Graph;
}): SecretResults {
  const { redactor, derivationId } = options;
  const recorded = new Map<Node, Recorded>();
  let gone: HistoryResult[] = [];

  /** Results of functions that read secret data, or a result that cannot be computed without it. */
  function take(ran: ReadonlySet<Node>): HistoryResult[] {
    const results = gone;
    gone = [];
    const queue = new Set(ran);
    for (const node of queue) {
      if ((node.flags & DISPOSED) !== 0) continue;
      const secrets = secretsRead(node);
      const before = recorded.get(node);
      if (secrets === undefined) {
        if (before === undefined) continue;
        recorded.delete(node);
        results.push({ node: derivationId(node.derivation), key: node.key });
        if (before.secrets !== undefined) addReaders(node, queue);
        continue;
      }
      const { outcome, isHidden } = recordedOutcome(node, secrets);
      const reads = readsOf(node);
      const text = JSON.stringify([outcome, reads]);
      const result: HistoryResult = { node: derivationId(node.derivation), key: node.key, outcome, reads };
      recorded.set(node, { result, text, secrets: isHidden ? secrets : undefined });
      if (before?.text !== text) results.push(result);
      if (isHidden && before?.secrets === undefined) addReaders(node, queue);
    }
    return results;
  }

  function recordedOutcome(node: Node, secrets: ReadonlySet<string>): { outcome: RecordedOutcome; isHidden: boolean } {
    if (node.state === HAS_ERROR)
      return {
        outcome: { state: 'error', message: redactor.text((node.value as Error).message, secrets) },
        isHidden: false,
      };
    if (node.state === IS_SUSPENDED)
      return { outcome: { state: 'suspended', waitingFor: node.value as readonly string[] }, isHidden: false };
    const { value, isWhole, isReplaced } = redactor.result(node.value, secrets);
    return { outcome: { state: 'value', value }, isHidden: isReplaced || !isWhole };
  }

  /** Undefined where nothing that it read is secret. */
  function secretsRead(node: Node): ReadonlySet<string> | undefined {
    let found: Set<string> | undefined;
    for (const { source } of node.deps) {
      if (source.kind === NODE) {
        const { secrets } = recorded.get(source) ?? {};
        if (secrets === undefined) continue;
        found ??= new Set();
        for (const text of secrets) found.add(text);
      } else if (source.table.sensitive) {
        const cells = source.kind === QUERY ? materialize(options.graph(), source) : [source];
        for (const { value } of cells) {
          if (value === undefined) continue;
          found ??= new Set();
          secretsOf(value, found);
        }
      }
    }
    return found;
  }

  function readsOf(node: Node): RecordedRead[] {
    return node.deps.flatMap(({ source }): RecordedRead[] => {
      if (source.kind === NODE) {
        const { name, owner } = source.derivation;
        return [{ sort: 'derived', name, owner, key: source.key }];
      }
      return source.kind === CELL ? [{ sort: 'object', name: source.table.name, key: source.key }] : [];
    });
  }

  return {
    take,
    of: (node) => recorded.get(node)?.result,
    all: () => [...recorded].map(([node, { result }]) => [node, result] as const),
    forget(node) {
      if (recorded.delete(node)) gone.push({ node: derivationId(node.derivation), key: node.key });
    },
  };
}

function addReaders(node: Node, into: Set<Node>): void {
  for (let edge = node.first; edge !== undefined; edge = edge.next) into.add(edge.reader);
}
