import { systemClock } from '@capstan/kube';
import { createLogger, createManager, namespacedPart, type Operator } from '@capstan/reconcile';
import {
  CLUSTER_OPTIONS,
  connectTo,
  EVENT_OUTPUT,
  type FlagValues,
  type Io,
  type OperatorFlags,
} from '@capstan/reconcile/command-line';
import { recordingOf } from './recording.ts';
import { RUN_OPTIONS, runSettings } from './run-options.ts';

/** The flags of every command that runs operators until it is stopped. */
export const RUN_FLAGS = { ...RUN_OPTIONS, ...CLUSTER_OPTIONS, output: EVENT_OUTPUT } as const;

/** Runs operators until the io's signal is aborted; resolves to the exit code. Throws when it cannot start. */
export async function runOperators(
  given: readonly Operator[],
  flags: FlagValues<typeof RUN_FLAGS>,
  io: Io,
  operatorFlags: OperatorFlags = {},
): Promise<number> {
  const { clock = systemClock, env, identity, userAgent } = io;
  const operators = flags.namespaced === true ? given.map(namespacedPart) : given;
  const { logFormat, logLevel, ...settings } = runSettings(flags, io);
  const logger = createLogger({ clock, format: logFormat, level: logLevel, write: (line) => io.stderr(line) });
  const recording = await recordingOf({ operators, flags, operatorFlags, clock, logger, cwd: io.cwd });
  const manager = createManager({
    ...settings,
    ...(recording && { record: recording.recorder }),
    operators,
    connection: await connectTo(flags, io),
    ...(flags.namespace !== undefined && { namespace: flags.namespace }),
    createNamespaces: operators.some(({ program }) => program?.createsNamespaces),
    clock,
    logger,
    env,
    identity,
    ...(userAgent !== undefined && { userAgent }),
    onEvent({ type, ...fields }) {
      if (flags.output === 'json')
        io.stdout(
          `${JSON.stringify({
            event: type,
            ...fields,
          })}\n`,
        );
      else logger.info(type, fields);
    },
  });
  try {
    await manager.run(io.signal);
  } finally {
    await recording?.end();
  }
  return 0;
}
