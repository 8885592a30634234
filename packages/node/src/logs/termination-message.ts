// The last message of a container, for `state.terminated.message`. With `terminationMessagePolicy: FallbackToLogsOnError` that is the end
// of its log when it failed.

export interface TerminationMessage {
  hear(chunk: Buffer): void;
  /** The end of it, where there is more than fits. */
  text(): string;
}

/** As much as the kubelet keeps. */
const MAX_BYTES = 2048;
const MAX_LINES = 80;

export function createTerminationMessage(): TerminationMessage {
  let end = Buffer.alloc(0);
  return {
    hear(chunk) {
      end = Buffer.concat([end, chunk]).subarray(-MAX_BYTES);
    },
    text() {
      const lines = end.toString('utf8').replace(/\n$/, '').split('\n');
      return lines.slice(-MAX_LINES).join('\n');
    },
  };
}
