// Applies one patch to one message. The result is the message with all operations, or the refusal because of which it has none of them.
import { applyJsonPatch, reasonOf } from '@capstan/kube';
import type { EnvoyPatchSpec } from '../../configuration/envoy-patches.ts';
import type { ProblemReason } from '../../configuration/problem.ts';
import { encode, type MessageName, typeProblem, validate } from '../../envoy/index.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { protectedChange } from './protection.ts';

export interface PatchRefusal {
  /** After the path of the patch: `.operations[1]`. */
  readonly at: string;
  readonly reason: ProblemReason;
  readonly message: string;
}

/** A message with its fields, as `sesame cli -o json` prints it. */
export type Message = Readonly<Record<string, unknown>>;

export function applyPatch(
  type: MessageName,
  message: Message,
  { operations }: Pick<EnvoyPatchSpec, 'operations'>,
): Result<Message, PatchRefusal> {
  let patched: unknown = message;
  for (const [index, operation] of operations.entries())
    try {
      patched = applyJsonPatch(patched, [operation]);
    } catch (error) {
      return refuse({
        at: `.operations[${index}]`,
        reason: 'NotFound',
        message: `does not apply (${operation.op} ${operation.path}): ${problemOf(error)}; correct it`,
      });
    }
  const refusal = (pointer: string, reason: ProblemReason, problem: string) => {
    const index = operations.findIndex(({ path }) => pointer === path || pointer.startsWith(`${path}/`));
    const at = index < 0 ? operations.findIndex(({ path }) => path.startsWith(`${pointer}/`)) : index;
    return refuse({ at: at < 0 ? '' : `.operations[${at}]`, reason, message: `${pointer} ${problem}` });
  };
  const mistyped = typeProblem(type, patched);
  if (mistyped) return refusal(mistyped.pointer, 'WrongType', `${mistyped.problem}; correct the value`);
  const closed = protectedChange(type, message, patched);
  if (closed) return refusal(closed.pointer, 'Protected', `${closed.problem}; use a field of an object, or remove it`);
  const result = patched as Message;
  const known = new Set(validate(type, message as never).map(({ path }) => path));
  const violation = validate(type, result as never).find(({ path }) => !known.has(path));
  if (violation)
    return refusal(pointerOf(violation.path), 'InvalidValue', `${violation.problem}, which Envoy refuses; correct it`);
  try {
    encode(type, result as never);
  } catch (error) {
    return refuse({ at: '', reason: 'InvalidValue', message: `has a value that is no ${type}: ${reasonOf(error)}` });
  }
  return accept(result);
}

function problemOf(error: unknown): string {
  const { problem } = error as { problem?: unknown };
  return typeof problem === 'string' ? problem : reasonOf(error);
}

/** `filters[0].name` as a pointer. */
function pointerOf(path: string): string {
  return `/${path
    .replace(/\["([^"]*)"\]/g, '.$1')
    .replace(/\[(\d+)\]/g, '.$1')
    .replaceAll('.', '/')}`;
}
