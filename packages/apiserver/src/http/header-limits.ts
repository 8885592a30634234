// How large the headers of a request may be, its URL included: as large as Go's HTTP server takes them, which kube-apiserver leaves as
// it is. Tokens with many groups and selectors with many names are larger than the limits of Node.js (16 KiB, and 64 KiB for HTTP/2).
const DEFAULT_BYTES = 1024 * 1024;

/** Go reads this much more before it answers with 431. */
export const MAX_HEADER_BYTES = DEFAULT_BYTES + 4096;

/** Of HTTP/2, where each header counts for 32 bytes more than it has. */
export const MAX_HEADER_LIST_BYTES = DEFAULT_BYTES + 320;

/** Go does not count headers; the bytes limit them to about this many. */
export const MAX_HEADER_PAIRS = 32_768;
