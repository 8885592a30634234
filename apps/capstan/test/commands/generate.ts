// Writes the last section of docs/cli.md: every command of every program, with its flags.
import { readFileSync, writeFileSync } from 'node:fs';
import { commandsSection, MARK } from './commands-section.ts';

const file = new URL('../../../../docs/cli.md', import.meta.url);
const [own = ''] = readFileSync(file, 'utf8').split(MARK);
writeFileSync(file, `${own.trimEnd()}\n\n${await commandsSection()}`);
console.log('docs/cli.md is written');
