// Loaded before a test: replaces a part of one file as it is loaded. The file itself is never touched, so that many runs go on beside one another.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const { file, start, end, to } = JSON.parse(process.env.CAPSTAN_MUTANT);

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || fileURLToPath(url) !== file) return nextLoad(url, context);
    const text = readFileSync(file, 'utf8');
    return { format: 'module-typescript', source: text.slice(0, start) + to + text.slice(end), shortCircuit: true };
  },
});
