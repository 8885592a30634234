import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '@capstan/kube';
import { cutRecording, openRecording } from '@capstan/reconcile';
import { command, positiveDuration, UsageErrors } from '@capstan/reconcile/command-line';
import { inspect } from '../replay/inspect.ts';
import { readKey } from '../run/recording.ts';

export default command({
  usage: 'capture -o FILE [--from FOLDER] [--since DURATION] | capture inspect FILE [--lines] [--key FILE]',
  description:
    'Writes one file from the folder of capstan run --record, for a bug report or a replay, from the last snapshot before --since on.\n' +
    'With inspect it shows the content of such a file: its kinds, its objects, and which functions were recorded by their results.\n' +
    'Secrets are not in it, unless it was recorded with --with-secrets: then it is encrypted.',
  examples: [
    'capstan capture -o incident.capture --from /var/lib/capstan/record --since 30m',
    'capstan capture inspect incident.capture',
  ],
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', help: 'The file to write.' },
    from: {
      type: 'string',
      value: 'FOLDER',
      env: 'CAPSTAN_RECORD',
      default: '.capstan/record',
      help: 'What --record was given.',
    },
    since: {
      type: 'string',
      value: 'DURATION',
      default: '30m',
      parse: positiveDuration,
      help: 'How long ago it begins.',
    },
    lines: { type: 'boolean', help: 'With inspect: print every line as JSON.' },
    key: { type: 'string', value: 'FILE', help: 'With inspect: the key of an encrypted file.' },
  },
  positionals: 2,
  choices: ['inspect'],
  async run({ command: typed, flags, positionals }, io) {
    const [verb, file] = positionals;
    if (verb === 'inspect') {
      if (file === undefined) throw UsageErrors.Missing(typed, 'a file', `${typed} inspect incident.capture`);
      const key = flags.key === undefined ? undefined : await readKey(flags.key, io.cwd);
      const recording = await openRecording(resolve(io.cwd, file), key);
      io.stdout(flags.lines ? recording.lines.map((line) => `${JSON.stringify(line)}\n`).join('') : inspect(recording));
      return 0;
    }
    if (verb !== undefined) throw UsageErrors.TooMany(typed, verb);
    if (flags.output === undefined) throw UsageErrors.Missing(typed, 'the file', `${typed} -o incident.capture`);
    const { clock = systemClock } = io;
    const { bytes, notes, from } = await cutRecording(resolve(io.cwd, flags.from), clock.now() - flags.since);
    await writeFile(resolve(io.cwd, flags.output), bytes, { mode: 0o600 });
    for (const note of notes) io.stderr(`${note}\n`);
    io.stdout(
      `${flags.output}: ${Math.ceil(bytes.length / 1024)} KB, from ${from}; capstan capture inspect ${flags.output} shows what is in it\n`,
    );
    return 0;
  },
});
