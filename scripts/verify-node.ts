// npm run verify:node: compares the recorded checksums of Node.js with the releases of the Node.js project. Where these cannot be
// reached, nothing is compared, and the command reports it.
import { reasonOf } from '@capstan/kube';
import { compareWithReleases, NODE_BINARIES } from './image/node-binaries.ts';

try {
  const problems = await compareWithReleases(process.env['NODE_RELEASES']);
  for (const problem of problems) console.error(problem);
  if (problems.length === 0)
    console.log(`Node.js ${NODE_BINARIES.version}: all recorded checksums are those of the release`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`the releases of Node.js cannot be reached, so nothing was compared: ${reasonOf(error)}`);
  process.exitCode = 1;
}
