import type { ForwardedCommand } from '@capstan/reconcile/command-line';
import { convertCommand, systemFiles } from '../convert/index.ts';

const command: ForwardedCommand = {
  forward: (argv, io) =>
    convertCommand(argv, { ...io, files: { ...systemFiles([] as never), stdin: () => io.files.stdin() } }),
};

export default command;
