import { runCommand } from './command.ts';
import { writeReport } from './report/write-report.ts';
import { saveReport } from './saved-results.ts';

process.exitCode = await runCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  now: () => new Date(),
  save: saveReport,
  report: writeReport,
});
