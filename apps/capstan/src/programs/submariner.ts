#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072 node --disable-warning=ExperimentalWarning
// The program `submariner`: gateways, the commands of its operator, and all of Capstan's. A gateway sets its flags of V8 before
// anything else is loaded.
if (process.argv[2] === 'gateway') await import('@capstan/submariner/gateway-engine');
const { processIo } = await import('../cli/process-io.ts');
const { runProgram } = await import('../cli/program.ts');

const { io, flushed } = processIo(process);
const program = { name: 'submariner', load: () => import('@capstan/submariner') };
const code = await runProgram(program, process.argv.slice(2), io);
await flushed();
process.exit(code);
