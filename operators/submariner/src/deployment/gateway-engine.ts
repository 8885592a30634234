// Sets V8's flags for a gateway. A gateway is idle most of the time and runs on every gateway node, so memory matters more than speed.
// Packets do not pass through it. The flags are set before any other module is loaded. A DaemonSet cannot set them, since NODE_OPTIONS does
// not accept them.
import { setFlagsFromString } from 'node:v8';

// Keep the young generation at its initial size. The flag for its largest size works only on the command line.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--optimize-for-size');
// Keep the code of the first compiler for WebAssembly (undici's HTTP parser). The second compiler takes 25 MB for one function.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');
// Interpret code until it is worth optimising. The machine code of the two compilers in between takes 8 to 9 MB and saved no measurable
// processor time.
setFlagsFromString('--no-sparkplug');
setFlagsFromString('--no-maglev');
