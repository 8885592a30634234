// `crossplane xpkg`: building, publishing, inspecting and installing packages, without Docker.
import { CodedError, reasonOf } from '@capstan/kube';
import { buildCommand } from './build-command.ts';
import {
  parseXpkgArgs,
  type XpkgCommand,
  type XpkgIo,
  XpkgUsageError,
  XpkgUsageErrors,
  xpkgCommandHelp,
} from './command.ts';
import { extractCommand } from './extract-command.ts';
import { inspectCommand } from './inspect-command.ts';
import { installCommand, updateCommand } from './install-command.ts';
import { pushCommand } from './push-command.ts';

const COMMANDS: Readonly<Record<string, XpkgCommand>> = {
  build: buildCommand,
  push: pushCommand,
  inspect: inspectCommand,
  extract: extractCommand,
  install: installCommand,
  update: updateCommand,
};

/** Runs the arguments after `crossplane xpkg`. Resolves to the exit code: 0, 1 for a failure, 2 for a mistake in the command. */
export async function xpkgCommand(argv: readonly string[], io: XpkgIo): Promise<number> {
  const [name = '', ...rest] = argv;
  try {
    if (name === '--help' || name === '-h' || name === 'help') {
      io.stdout(generalHelp());
      return 0;
    }
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined) throw XpkgUsageErrors.UnknownCommand(name, Object.keys(COMMANDS));
    const args = parseXpkgArgs(name, command, rest);
    if (args.is('help')) {
      io.stdout(xpkgCommandHelp(command));
      return 0;
    }
    return await command.run(args, io);
  } catch (error) {
    const isOurs = error instanceof CodedError;
    io.stderr(`error: ${isOurs ? error.message : reasonOf(error)}\n`);
    return error instanceof XpkgUsageError ? 2 : 1;
  }
}

function generalHelp(): string {
  const lines = Object.values(COMMANDS).map(
    ({ usage, summary }) => `  ${usage}\n      ${summary.replace(/\n/g, '\n      ')}`,
  );
  return `Usage: crossplane xpkg COMMAND [flags]\n\n${lines.join('\n')}\n\ncrossplane xpkg COMMAND --help shows more about one of them.\n`;
}
