import { command } from '../cli/command.ts';
import { CliErrors } from '../cli/errors.ts';

export default command({
  usage: 'up [--demo]',
  description: 'Will start a whole cluster in one process. It is not part of this version yet: it only says so.',
  examples: [],
  options: { demo: { type: 'boolean', help: 'With something to look at in it.' } },
  run: async () => {
    throw CliErrors.NotThereYet();
  },
});
