import { ApiError, CodedError, isAborted, SchemaError, TransportError } from '@capstan/kube';
import { UsageError } from '@capstan/reconcile/command-line';
import type { Io } from './io.ts';

/** Prints an error, and returns the exit code. */
export function report(error: unknown, isVerbose: boolean, io: Io): number {
  if (io.signal.aborted && (isAborted(error) || error === io.signal.reason)) return INTERRUPTED;
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  io.stderr(`error: ${message}\n`);
  // Expected errors print one sentence. Others can only be bugs, and print the stack as well.
  const isExpected = EXPECTED.some((type) => error instanceof type);
  if (stack !== undefined && (isVerbose || !isExpected)) io.stderr(`${stack}\n`);
  if (!isExpected)
    io.stderr('This is a bug in Capstan or in a loaded operator: please report it with the lines above.\n');
  return error instanceof UsageError ? 2 : 1;
}

const INTERRUPTED = 130;
const EXPECTED = [CodedError, ApiError, TransportError, SchemaError];
