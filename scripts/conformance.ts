// Runs a conformance suite: Kubernetes' own end-to-end tests, or with `gateway` first that of the Gateway API.
// Usage: npm run conformance [-- FILE…]   npm run conformance -- gateway [--shared] [TEST…]
const SUITES: Readonly<Record<string, string>> = { gateway: '../operators/sesame/test/conformance/main.ts' };

const suite = SUITES[process.argv[2] ?? ''];
if (suite !== undefined) process.argv.splice(2, 1);
await import(suite ?? '../packages/node/test/conformance/main.ts');
