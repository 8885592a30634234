// How V8 runs a discoverer. A discoverer waits most of the time and then does little, but there is one for every backend, all the
// time: memory is worth more than speed. Ten discoverers and their servers in one process under these flags need 19 s for a first
// synchronisation instead of 12, and 3.6 ms instead of 1.9 for a change (99th percentile). The flags are set before anything
// else is loaded; code that V8 has cached under other flags is not used.
import { setFlagsFromString } from 'node:v8';

// The young generation stays as small as it is at the start: the flag for its largest size counts only on the command line.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--optimize-for-size');
// WebAssembly (undici's parser of HTTP, and Node's of TypeScript) runs as its first compiler leaves it. The second one takes 25 MB
// for a single function of the parser. Both flags: without the first it would begin at once.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');
// JavaScript has a compiler between the first and the last (Maglev), which is enough here: the last one keeps 6 MB for its threads as long
// as the process lives.
setFlagsFromString('--no-turbofan');
