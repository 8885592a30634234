// With CAPSTAN_REPLAY=1 every program that a test starts is recorded, and replayed when the test file is over: a result that differs fails it.
import { type RecordedLives, type RecordLife, recordLives } from './record-lives.ts';

let all: RecordedLives[] | undefined;

/** Undefined unless the environment asks for it. */
export function recorderOfAll(): RecordLife | undefined {
  const wanted = process.env['CAPSTAN_REPLAY'];
  if (wanted === undefined || wanted === '' || wanted === '0') return undefined;
  if (all === undefined) {
    all = [];
    process.on('exit', replayAll);
  }
  return (life) => {
    const lives = recordLives(wanted === 'encrypted' ? 'encrypted' : 'replaced');
    all?.push(lives);
    return lives.record(life);
  };
}

function replayAll(): void {
  let lives = 0;
  let compared = 0;
  let notRun = 0;
  for (const recorded of all ?? [])
    for (const life of recorded.histories()) {
      const report = recorded.replay(life);
      lives++;
      compared += report.compared;
      notRun += report.notRun;
      if (report.differing === 0) continue;
      process.exitCode = 1;
      const shown = report.differences.map(({ wave, name, key, how, reads }) => ({
        wave,
        name,
        key,
        how,
        reads: reads.slice(0, 10),
      }));
      process.stderr.write(`a replay differs in ${report.differing} results: ${JSON.stringify(shown, undefined, 2)}\n`);
    }
  process.stderr.write(
    `replayed ${lives} lives with ${compared} results (${notRun} results of functions that read secrets)\n`,
  );
}
