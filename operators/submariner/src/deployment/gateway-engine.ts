// How V8 runs a gateway. A gateway waits most of the time, and there is one on every gateway node, all the time: memory is worth more
// than speed. Packets do not pass through it. The flags are set before anything else is loaded: a DaemonSet cannot set them, as
// NODE_OPTIONS does not take them.
import { setFlagsFromString } from 'node:v8';

// The young generation stays as small as it is at the start: the flag for its largest size counts only on the command line.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--optimize-for-size');
// WebAssembly (undici's parser of HTTP) runs as its first compiler leaves it; the second one takes 25 MB for one function.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');
// Code is interpreted until it is worth optimising: machine code of the two compilers in between takes 8 to 9 MB, and
// saved no processor time that could be told from noise.
setFlagsFromString('--no-sparkplug');
setFlagsFromString('--no-maglev');
